use super::*;

#[test]
fn spans_lead_back_through_copies_replacements_and_gaps() {
    let mut writer = Writer::new(100);
    writer.copy(0, "ab");
    writer.put(5..9, "c");
    writer.copy(9, "d");
    let derived = writer.finish(10);
    assert_eq!(derived.text, "abcd");
    assert_eq!(derived.map.source_span(0..1), 0..1);
    assert_eq!(derived.map.source_span(1..3), 1..9);
    assert_eq!(derived.map.source_span(2..4), 5..10);
    assert_eq!(derived.map.source_span(2..2), 5..5);
    assert_eq!(derived.map.source_span(90..99), 10..10);
}

#[test]
fn base64_spans_cover_whole_groups() {
    let mut writer = Writer::new(100);
    writer.put_scaled(10..22, Scale::Base64, "abcdefgh");
    let map = writer.finish(22).map;
    assert_eq!(map.source_span(0..1), 10..14);
    assert_eq!(map.source_span(2..4), 10..18);
    assert_eq!(map.source_span(6..8), 18..22);
}

#[test]
fn a_full_writer_stops_on_a_character_border_and_counts_what_it_left_out() {
    let mut writer = Writer::new(4);
    writer.copy(0, "abcé!");
    writer.copy(6, "more");
    let derived = writer.finish(10);
    assert_eq!((derived.text.as_str(), derived.cut), ("abc", 7));
}
