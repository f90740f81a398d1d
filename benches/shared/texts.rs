//! Texts and requests that benchmarks measure.

#![allow(dead_code, reason = "each benchmark takes what it needs")]

use serde_json::{Value, json};

/// What an ordinary text is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters and notes of a shop: prose full of numbers, dates, prices and addresses.
    Prose,
    /// Minutes and reports without a number or a link, with records of a business between them.
    Plain,
}

const SENTENCES: [&str; 6] = [
    "The delivery of 14 March arrived two days late and three boxes were damaged.",
    "Customer 4711 asked for a refund; the order total was 129.90 EUR.",
    "Please note: the warehouse in Lyon is closed from the 20th on.",
    "See https://docs.shop.example/returns?lang=en for the conditions of return.",
    "\"I would rather have a replacement,\" she wrote, \"than the money back.\"",
    "Item A-1093 (hammer, 450 g) is in stock; item A-2044 will be back in week 17.",
];

const PLAIN: [&str; 6] = [
    "The workshop on timber joints was well attended, and most of the guests stayed for the tour.",
    "Nobody objected to moving the garden furniture into the small hall until spring.",
    "Marta will write to the carpenters about the shelves that are still missing.",
    "We agreed that the catalogue should show fewer tools and larger pictures.",
    "The neighbours complained about early deliveries; from now on the gate stays shut before breakfast.",
    "After a long discussion the group chose the blue paint for the front door.",
];

/// Prose of this many bytes.
pub(crate) fn prose(bytes: usize) -> String {
    filled(bytes, &SENTENCES)
}

/// Records of a business, one a line, of this many bytes.
pub(crate) fn records(bytes: usize) -> String {
    let mut text = String::new();
    let mut row = 0;
    while text.len() < bytes {
        let record = json!({"order": row, "status": "shipped", "customer": "Northwind Hardware", "total": 129.9,
            "lines": [{"item": "A-1093", "count": row % 7}], "remark": "leave it at the gate"});
        text.push_str(&record.to_string());
        text.push('\n');
        row += 1;
    }
    text.truncate(bytes);
    text
}

fn filled(bytes: usize, sentences: &[&str]) -> String {
    let mut text = String::new();
    for sentence in sentences.iter().cycle() {
        if text.len() >= bytes {
            break;
        }
        text.push_str(sentence);
        text.push('\n');
    }
    text.truncate(bytes);
    text
}

/// A tool's answer of about this many bytes: texts, some structured rows, a realistic context around them.
pub(crate) fn request(bytes: usize, kind: Kind) -> Value {
    let sentences = match kind {
        Kind::Prose => &SENTENCES,
        Kind::Plain => &PLAIN,
    };
    let mut outputs: Vec<Value> = Vec::new();
    let mut text = String::new();
    let mut size = 900;
    let mut row = 0;
    for sentence in sentences.iter().cycle() {
        if size >= bytes {
            break;
        }
        text.push_str(sentence);
        text.push('\n');
        size += sentence.len() + 3;
        if text.len() > 2_000 {
            outputs.push(json!({"kind": "text", "text": std::mem::take(&mut text)}));
            row += 1;
            let data = match kind {
                Kind::Prose => {
                    json!({"order": row, "status": "shipped", "total": 129.9, "lines": ["A-1093", "A-2044"]})
                }
                Kind::Plain => {
                    json!({"customer": "Northwind Hardware", "status": "shipped", "remark": "leave it at the gate", "paid": true})
                }
            };
            outputs.push(json!({"kind": "data", "data": data}));
            size += 110;
        }
    }
    outputs.push(json!({"kind": "text", "text": text}));
    step(
        "steps/toolCallResult",
        json!({"executionId": "e-1", "result": {"outputs": outputs, "isError": false}}),
    )
}

/// A step of this method with these parameters, in a realistic context.
pub(crate) fn step(method: &str, mut params: Value) -> Value {
    if let Some(params) = params.as_object_mut() {
        let context = json!({
            "agent": {"id": "desk", "name": "Desk", "version": "1.0", "instructions": "You help the staff of a hardware shop with orders and returns.",
                "provider": {"name": "Shop", "url": "https://shop.example"},
                "tools": [{"name": "orders.find", "id": "orders.find", "description": "Finds orders by customer.", "type": "function_call",
                    "arguments": [{"name": "customer", "type": "string", "required": true}], "outputs": null}]},
            "session": {"id": "s-1"}, "turnId": "t-1", "stepId": "st-1", "timestamp": "2026-03-01T10:00:00Z"});
        params.insert("context".to_owned(), context);
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}
