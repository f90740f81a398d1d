use super::*;

#[test]
fn what_is_run_as_text_is_put_together() {
    let of = |text: &str| embedded_statements(text, &text.to_lowercase());
    assert_eq!(of("EXEC('DR' + 'OP TABLE a')"), ["DROP TABLE a"]);
    assert_eq!(of("EXECUTE IMMEDIATE 'SELECT ''x'''"), ["SELECT 'x'"]);
    assert_eq!(of("SET @q = 'a'; PREPARE s FROM 'b'"), ["a", "b"]);
    assert!(of("SELECT 'DROP TABLE a'").is_empty());
    assert!(of("EXEC('open").len() <= 1);
}
