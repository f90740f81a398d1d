use super::*;

#[test]
fn what_was_added_is_there_and_most_others_are_not() {
    let mut marks = Marks::default();
    (0..1_000).for_each(|number| marks.mark(number * 7919));
    assert!((0..1_000).all(|number| marks.may_have(number * 7919)));
    let others = (0..1_000).filter(|number| marks.may_have(number * 7919 + 1)).count();
    assert!(others < 100, "{others}");
}
