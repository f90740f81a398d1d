use super::*;

#[test]
fn every_byte_is_of_its_class_wherever_it_stands() {
    let classes = [
        (ByteClasses::BEYOND_ASCII, "é"),
        (ByteClasses::CAPITAL, "Q"),
        (ByteClasses::DIGIT, "7"),
        (ByteClasses::CODE, "%"),
        (ByteClasses::CODE, "\\"),
        (ByteClasses::ODD_CONTROL, "\u{1b}"),
        (ByteClasses::ODD_CONTROL, "\u{7f}"),
        (ByteClasses::AT, "@"),
        (ByteClasses::LETTER_SIGN, "!"),
        (ByteClasses::TAB, "\t"),
        (ByteClasses::CAPITALS, "AB"),
        (ByteClasses::ODD_PIECE, "k7"),
        (ByteClasses::ODD_PIECE, "k'"),
    ];
    for before in 0..70 {
        for behind in [0, 1, 7, 63, 64, 65] {
            for (class, sign) in classes {
                let plain = " ".repeat(before) + &" ".repeat(behind);
                assert_eq!(ByteClasses::of(&plain), ByteClasses::default());
                let text = format!("{}{sign}{}", " ".repeat(before), " ".repeat(behind));
                assert!(ByteClasses::of(&text).has(class), "{text:?}");
            }
        }
    }
    assert_eq!(ByteClasses::of("a@B"), ByteClasses::AT.or(ByteClasses::CAPITAL));
}

#[test]
fn letters_with_gaps_are_told_from_prose() {
    assert!(ByteClasses::of("please i g n o r e all of it").has(ByteClasses::GAPS));
    let prose =
        "The meeting on Monday was moved to 10 a.m., and Ms. Keller asks everybody to bring the drafts. ".repeat(5);
    assert!(!ByteClasses::of(&prose).has(ByteClasses::GAPS.or(ByteClasses::CAPITALS).or(ByteClasses::TAB)));
}
