//! Structured results after an edit: whether they still have the form that the tool promises.
//!
//! An edit changes strings and nothing else. So a result stays valid as long as every changed string stands where the tool's `outputSchema`
//! asks for some string. Where it asks for more (a pattern, one of several values), the result counts as broken.

use crate::gateway::json::Json;

/// Keywords that say more of a string than that it is one.
const NARROWS: &[&str] = &[
    "enum",
    "const",
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "$ref",
    "$dynamicRef",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
];

/// Returns `true` if a value that fitted the schema before an edit fits it after the edit.
pub(super) fn still_fits(before: &Json, after: &Json, schema: Option<&Json>) -> bool {
    if before == after {
        return true;
    }
    let Some(schema) = schema else { return true };
    if NARROWS.iter().any(|keyword| schema.get(keyword).is_some()) {
        return false;
    }
    match (before, after) {
        (Json::Object(before), Json::Object(after)) => before.iter().zip(after).all(|((name, before), (_, after))| {
            let named = schema.at(&["properties", name]);
            let by_pattern = schema.get("patternProperties").is_some();
            let other = schema.get("additionalProperties").filter(|_| named.is_none());
            (before == after || !by_pattern) && still_fits(before, after, named.or(other))
        }),
        (Json::Array(before), Json::Array(after)) => {
            let items = schema.get("items");
            let is_tuple = schema.get("prefixItems").is_some() || matches!(items, Some(Json::Array(_)));
            !is_tuple
                && before
                    .iter()
                    .zip(after)
                    .all(|(before, after)| still_fits(before, after, items))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_may_change_where_any_string_fits() {
        let fits = |schema: serde_json::Value, before: serde_json::Value, after: serde_json::Value| {
            still_fits(&before.into(), &after.into(), Some(&schema.into()))
        };
        let schema = json!({"type": "object", "properties": {
            "note": {"type": "string"}, "kind": {"type": "string", "enum": ["a", "b"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"mail": {"type": "string", "format": "email"}}}},
        }});
        let value = |note: &str, kind: &str, mail: &str| json!({"note": note, "kind": kind, "rows": [{"mail": mail}]});
        let before = value("key 1", "a", "a@b.example");
        assert!(fits(schema.clone(), before.clone(), value("***", "a", "a@b.example")));
        assert!(!fits(
            schema.clone(),
            before.clone(),
            value("key 1", "***", "a@b.example")
        ));
        assert!(!fits(schema.clone(), before.clone(), value("key 1", "a", "***")));
        assert!(!fits(
            json!({"$ref": "#/$defs/row", "$defs": {}}),
            before.clone(),
            value("***", "a", "a@b.example")
        ));
        assert!(still_fits(&before.clone().into(), &value("***", "b", "c").into(), None));
    }
}
