use super::*;
use crate::prefilter::testing::{hold_shaped_examples, screen, tool_call};

#[test]
fn every_rule_holds_its_examples() {
    hold_shaped_examples(&Sql::new().unwrap(), |_, text| {
        tool_call("query_database", &[("query", text)])
    });
}

#[test]
fn what_is_written_to_a_file_is_less_certain_than_what_is_run() {
    let confidence = |label: &str| {
        let found = screen(
            &Sql::new().unwrap(),
            &tool_call("tool", &[(label, "DROP TABLE orders")]),
        );
        found.first().map(|finding| finding.confidence)
    };
    assert_eq!(confidence("content"), Some(Confidence::Medium));
    assert_eq!(confidence("query"), Some(Confidence::High));
}

#[test]
fn prose_that_begins_like_sql_is_no_sql() {
    for text in [
        "drop me a line about the table",
        "select a seat by the window",
        "update the address of my order",
        "Delete the last mail",
        "with regards",
        "copy that from the file",
        "grant me a refund",
    ] {
        assert_eq!(
            screen(&Sql::new().unwrap(), &tool_call("send", &[("query", text)])),
            [],
            "{text}"
        );
    }
}

#[test]
fn hostile_depth_and_length_end_quickly() {
    for text in [
        format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("SELECT 1 WHERE {}", "1=1 OR ".repeat(8_000)),
        format!("SELECT {}", "/*".repeat(20_000)),
        "SELECT '".repeat(8_000),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(4_000)),
    ] {
        let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        let screened = thread.spawn(move || screen(&Sql::new().unwrap(), &tool_call("q", &[("sql", &text)])).len());
        assert!(screened.unwrap().join().is_ok());
    }
}
