use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const BOUNDS: Bounds = Bounds {
    depth: 128,
    values: 200_000,
    bytes: 64 << 20,
};

fn fault(body: impl AsRef<[u8]>) -> Fault {
    parse(body.as_ref(), BOUNDS).expect_err("the body is refused")
}

#[test]
fn a_document_keeps_its_spans() {
    let text = r#" {"a" : [1, {"b\u0063":"x\ny"}, true ], "": null} "#;
    let table = parse(text.as_bytes(), BOUNDS).unwrap();
    let list = table.member(Table::ROOT, "a").unwrap();
    let second = table.children(list).nth(1).unwrap();
    let value = table.member(second, "bc").unwrap();
    assert_eq!(table.raw(list), r#"[1, {"b\u0063":"x\ny"}, true ]"#);
    assert_eq!(table.raw(value), r#""x\ny""#);
    assert_eq!(table.text(value).as_deref(), Some("x\ny"));
    assert_eq!(table.pointer(Table::ROOT, value), "/a/1/bc");
    assert_eq!(table.describe_member(Table::ROOT, ""), "null");
    assert_eq!(table.describe_member(Table::ROOT, "b"), "nothing");
    assert_eq!(table.children(Table::ROOT).count(), 2);
}

#[test]
fn a_duplicate_key_is_refused_wherever_and_however_it_is_spelled() {
    for (body, pointer) in [
        (r#"{"a":1,"a":2}"#, "/a"),
        (r#"{"a":1,"\u0061":2}"#, "/a"),
        (r#"{"x":[0,{"a":1,"b":{"a":1},"a":2}]}"#, "/x/1/a"),
        (r#"{"p/q~":{"a":{},"a":[]}}"#, "/p~1q~0/a"),
        (r#"{"":0,"":0}"#, "/"),
    ] {
        let fault = fault(body);
        assert_eq!(
            (fault.kind, fault.pointer.as_str()),
            (FaultKind::DuplicateKey, pointer),
            "{body}"
        );
    }
    assert!(parse(br#"{"a":{"a":1},"b":[{"a":1},{"a":2}],"A":0}"#, BOUNDS).is_ok());
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let fault = fault("{\"a\": [1, 2,\n  \"x\" \"y\"]}");
    assert!(matches!(fault.kind, FaultKind::Malformed(_)));
    assert_eq!((fault.line, fault.column, fault.offset), (2, 7, 19));
    assert_eq!(fault.pointer, "/a");
    for body in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1,]",
        "[1 2]",
        "{a:1}",
        "{'a':1}",
        "nul",
        "truee",
        "[NaN]",
        "[Infinity]",
        "[-Infinity]",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "0x10",
        "\"a\tb\"",
        "\"a\nb\"",
        "\"\\x\"",
        "\"\\u12\"",
        "{} {}",
        "[] x",
        "// c\n{}",
        "{\"a\":1}}",
        "]",
        "}",
        ",",
        "\u{1}",
        "\"\0\"",
        "{}\0",
    ] {
        assert!(
            matches!(fault_kind(body), FaultKind::Malformed(_)),
            "{body:?}: {:?}",
            fault_kind(body)
        );
    }
}

fn fault_kind(body: &str) -> FaultKind {
    fault(body).kind
}

#[test]
fn encodings_other_than_plain_utf8_are_refused() {
    assert!(matches!(fault("\u{feff}{}").kind, FaultKind::Malformed(_)));
    assert_eq!(fault(b"{\"a\":\"\xff\"}").kind, FaultKind::NotUtf8);
    assert_eq!(fault(b"{\"a\":\"\xff\"}").offset, 6);
    assert_eq!(fault(b"{\"\xc0\xaf\":1}").kind, FaultKind::NotUtf8);
    assert_eq!(fault(b"\"\xed\xa0\x80\"").kind, FaultKind::NotUtf8);
    assert_eq!(fault(b"\xff\xfe{\0}\0").kind, FaultKind::NotUtf8);
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    for body in [
        r#"["\ud800"]"#,
        r#"["\udc00"]"#,
        r#"["\ud800x"]"#,
        r#"["\ud800\n"]"#,
        r#"["\ud800\u0041"]"#,
        r#"["\ud800\ud800"]"#,
        r#"["\udc00\ud800"]"#,
        r#"{"\uDBFF":1}"#,
    ] {
        assert_eq!(fault_kind(body), FaultKind::LoneSurrogate, "{body}");
    }
    assert!(parse(br#"["\ud83d\ude00","\\ud800"]"#, BOUNDS).is_ok());
}

#[test]
fn depth_has_a_limit() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(128).as_bytes(), BOUNDS).is_ok());
    assert_eq!(fault(nested(129)).kind, FaultKind::TooDeep(128));
    let started = Instant::now();
    assert_eq!(fault(nested(10_000)).kind, FaultKind::TooDeep(128));
    assert_eq!(fault("{\"a\":".repeat(2_000_000)).kind, FaultKind::TooDeep(128));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn huge_arrays_and_objects_are_refused_quickly() {
    let started = Instant::now();
    let array = format!("[{}0]", "0,".repeat(1_000_000));
    assert_eq!(fault(array).kind, FaultKind::TooManyValues(200_000));
    let members: Vec<String> = (0..150_000).map(|index| format!("\"k{index}\":0")).collect();
    assert!(parse(format!("{{{}}}", members.join(",")).as_bytes(), BOUNDS).is_ok());
    let repeated = format!("{{{},\"k77777\":0}}", members.join(","));
    assert_eq!(fault(repeated).pointer, "/k77777");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_huge_key_is_not_repeated_in_the_refusal() {
    let key = "k".repeat(1_000_000);
    let fault = fault(format!("{{\"{key}\":1,\"{key}\":2}}"));
    assert_eq!(fault.kind, FaultKind::DuplicateKey);
    assert!(fault.to_string().len() < 400);
}

#[test]
fn long_bodies_are_refused_unread() {
    let bounds = Bounds { bytes: 8, ..BOUNDS };
    assert!(parse(b"[1,2,34]", bounds).is_ok());
    assert_eq!(parse(b"[1,2,345]", bounds).unwrap_err().kind, FaultKind::TooLong(8));
}

#[test]
fn every_number_is_kept_as_it_is_written() {
    let long = "1".repeat(5_000);
    for number in [
        "0",
        "-0",
        "1e999",
        "-1e-999",
        "1E+400",
        "9007199254740993",
        "-18446744073709551616",
        "0.10000000000000000555",
        "3.14159265358979323846264338327950288",
        &long,
        &format!("-{long}"),
        &format!("{long}.5e-7"),
        &format!("1.{}", "3".repeat(100_000)),
        &format!("1e{}", "9".repeat(50)),
    ] {
        for (text, at) in [
            (number.to_owned(), ""),
            (format!("[{number}]"), "/0"),
            (format!(r#"{{"a": [1, {number} ,"x"], "b": {number}}}"#), "/a/1"),
        ] {
            let table = parse(text.as_bytes(), BOUNDS).unwrap();
            let kept = std::iter::once(Table::ROOT)
                .chain(table.below(Table::ROOT))
                .find(|node| table.pointer(Table::ROOT, *node) == at)
                .map(|node| table.raw(node));
            assert_eq!(kept, Some(number));
        }
    }
    let after = parse(format!(r#"[{long},{{"k":"v"}},{long}]"#).as_bytes(), BOUNDS).map(|table| table.nodes.len());
    assert_eq!(after.unwrap(), 5);
}

#[test]
fn a_fault_behind_a_long_number_is_told_with_its_place() {
    let long = "1".repeat(5_000);
    let refused = fault(format!(r#"{{"a":{long},"a":1}}"#));
    assert_eq!(
        (refused.kind, refused.pointer.as_str()),
        (FaultKind::DuplicateKey, "/a")
    );
    assert_eq!(refused.offset, 5 + 5_000 + 2);
    for broken in [
        format!("[{long}.]"),
        format!("[{long}e]"),
        format!("[0{long}]"),
        "[-]".to_owned(),
    ] {
        assert!(matches!(fault(broken).kind, FaultKind::Malformed(_)));
    }
    assert_eq!(fault(format!("[{long},]")).offset, 5_002);
}

#[test]
fn indices_are_written_as_decimals() {
    for index in [0, 1, 9, 10, 11, 99, 100, 101, 12_345, usize::MAX] {
        let mut pointer = String::new();
        push_index(&mut pointer, index);
        assert_eq!(pointer, format!("/{index}"));
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(serde_json::Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Every node of the table, by pointer, with its value as another reader reads it.
fn every_node_reads_the_same(text: &str, value: &serde_json::Value) -> Result<(), TestCaseError> {
    let table = parse(text.as_bytes(), BOUNDS).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    for node in std::iter::once(Table::ROOT).chain(table.below(Table::ROOT)) {
        let pointer = table.pointer(Table::ROOT, node);
        let raw: serde_json::Value = serde_json::from_str(table.raw(node)).unwrap();
        prop_assert_eq!(Some(&raw), value.pointer(&pointer));
        if let Some(string) = table.text(node) {
            prop_assert_eq!(Some(string.as_ref()), raw.as_str());
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_table_agrees_with_another_reader(value in any_json()) {
        every_node_reads_the_same(&serde_json::to_string(&value).unwrap(), &value)?;
        every_node_reads_the_same(&serde_json::to_string_pretty(&value).unwrap(), &value)?;
    }

    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&body, BOUNDS);
    }

    #[test]
    fn what_it_accepts_another_reader_accepts(body in r#"[\[\]{}:,"\\ntu0-9a-e.\-+ ]{0,24}"#) {
        let ours = parse(body.as_bytes(), BOUNDS);
        let theirs = serde_json::from_str::<serde_json::Value>(&body);
        if ours.is_ok() {
            prop_assert!(theirs.is_ok());
        } else if theirs.is_ok() {
            let kind = ours.unwrap_err().kind;
            prop_assert!(matches!(kind, FaultKind::DuplicateKey), "{:?}", kind);
        }
    }
}
