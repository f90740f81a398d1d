use super::*;

#[test]
fn statements_behind_others_are_found_with_their_ends() {
    let found = |text: &str| -> Vec<String> {
        let ranges = behind(text, Beginning::Anywhere).into_iter();
        ranges.filter_map(|range| text.get(range).map(str::to_owned)).collect()
    };
    assert_eq!(found("USE a; DROP TABLE b; SELECT 1"), ["DROP TABLE b"]);
    assert_eq!(found("GO\nDELETE FROM b\nGO"), ["DELETE FROM b"]);
    assert_eq!(found("```sql\nDROP TABLE b\n```"), ["DROP TABLE b"]);
    assert_eq!(found("{\"q\": \"DROP TABLE b\"}"), ["DROP TABLE b"]);
    assert!(found("SELECT 1; SELECT 2").is_empty());
    assert!(behind("SELECT 'a; DROP TABLE b'", Beginning::OfLine).is_empty());
    assert!(loss_elsewhere("FLUSHALL").is_some() && loss_elsewhere("db.a.deleteMany({})").is_some());
    assert!(loss_elsewhere("db.a.deleteMany({id: 1})").is_none());
    assert!(loss_elsewhere("MATCH (n) DETACH DELETE n").is_some());
    assert!(loss_elsewhere("MATCH (n {id: 3}) DELETE n").is_none());
}
