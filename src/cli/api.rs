//! `guardian api`: the wire, as OpenAPI or as a page.

use clap::Args;
use serde_json::Value;

use super::Ended;
use crate::server;

/// Print what the server understands and answers, as OpenAPI 3.1 (what `GET /openapi.json` serves).
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print Markdown: the documentation of the wire.
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let document = server::api_document();
    if arguments.markdown {
        super::output::write(format_args!("{}", Page::of(&document)));
    } else {
        super::output::write(format_args!("{document:#}\n"));
    }
    Ok(Ended::Done)
}

/// The text before the generated parts.
const BEFORE: &str = "\
# The wire

What the server understands and answers. This page and `GET /openapi.json` (OpenAPI 3.1, with JSON Schemas of all of it) come from one table:
`guardian api` prints the document, `guardian api --markdown` this page. Tests send every example to a server and hold its answers to the schemas.

- Bodies are JSON in UTF-8, `Content-Type: application/json` (or `application/json-rpc`), plain or with `Content-Encoding: gzip`, of at most
  `limits.max_body_bytes`. Duplicate keys and nesting over `limits.max_depth` are errors, numbers are kept as they are written.
- A key comes as `Authorization: Bearer KEY` or `X-Api-Key: KEY`. Without `[[organisations]]` none is needed, and only this machine may ask.
- Every answer of JSON-RPC is HTTP 200, errors included. What the transport refuses has a status of its own, and a JSON-RPC error as its body.
- A misspelt or misplaced member is never read as the one that was meant. Where that one is needed, the error says what was expected where, and what was found;
  else `data.diagnostics` has a name for it (`misspelt_session`, `misspelt_member`, `misplaced_member`) and `data.notes` the place and the expected name.

";

struct Page<'d> {
    document: &'d Value,
    text: String,
}

const NONE: &Value = &Value::Null;

fn member<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(NONE)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    member(value, name).as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the schema that a reference names.
fn name_of(schema: &Value) -> Option<&str> {
    member(schema, "$ref").as_str()?.rsplit('/').next()
}

impl<'d> Page<'d> {
    fn of(document: &'d Value) -> String {
        let mut page = Self {
            document,
            text: BEFORE.to_owned(),
        };
        page.paths();
        page.requests();
        page.say("\n## Objects of requests\n");
        for name in ["Context", "Agent", "Tool", "Part"] {
            page.object(name);
        }
        page.say("\n## Answers\n");
        for name in ["Verdict", "Finding", "Pong", "LogVerdict"] {
            page.object(name);
        }
        page.errors();
        page.text
    }

    fn say(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn schema(&self, name: &str) -> &'d Value {
        member(member(member(self.document, "components"), "schemas"), name)
    }

    fn paths(&mut self) {
        self.say("## Paths\n\n| path | what | answer |\n|---|---|---|");
        for (path, entry) in members(member(self.document, "paths")) {
            for (verb, operation) in members(entry) {
                let mut statuses: Vec<&str> = members(member(operation, "responses"))
                    .map(|(status, _)| status.as_str())
                    .collect();
                statuses.sort_unstable();
                let about = [text(operation, "summary"), text(operation, "description")];
                let about: Vec<&str> = about.into_iter().filter(|words| !words.is_empty()).collect();
                let line = format!(
                    "| `{} {path}` | {} | {} |",
                    verb.to_uppercase(),
                    about.join(". ").replace("..", "."),
                    statuses.join(", ")
                );
                self.say(&line);
            }
        }
    }

    fn requests(&mut self) {
        self.say("\n## Requests at `/` and `/aos`");
        let forms = items(member(self.schema("Request"), "oneOf")).filter_map(name_of);
        for name in forms {
            self.request(name, "params");
        }
        self.say("\n## Message logs at `/v1/judge`");
        self.request("Log", "");
        self.say("\n## Envelopes at `/acs`\n\nWhat their hooks carry and how they are signed: [acs.md](acs.md).");
        self.request("AcsRequest", "params");
    }

    fn request(&mut self, name: &str, inside: &str) {
        let schema = self.schema(name);
        let method = member(member(schema, "properties"), "method");
        let names = match member(method, "const").as_str() {
            Some(name) => format!("`{name}`"),
            None => items(member(method, "enum"))
                .filter_map(Value::as_str)
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let names = if names.is_empty() { format!("`{name}`") } else { names };
        self.say(&format!("\n### {names}\n\n{}\n", text(schema, "description")));
        let described = match inside {
            "" => schema,
            inside => member(member(schema, "properties"), inside),
        };
        self.table(described);
        for example in items(member(schema, "examples")) {
            let decision = text(schema, "x-decision");
            self.say(&format!("\nAnswered with `{decision}`:\n\n```json\n{example:#}\n```"));
        }
    }

    fn object(&mut self, name: &str) {
        let schema = self.schema(name);
        self.say(&format!("\n### {name}\n\n{}\n", text(schema, "description")));
        self.table(schema);
        for example in items(member(schema, "examples")) {
            self.say(&format!("\n```json\n{example:#}\n```"));
        }
    }

    fn table(&mut self, schema: &Value) {
        self.say("| member | type | needed | meaning |\n|---|---|---|---|");
        self.rows(schema, "");
    }

    /// Adds a row for each member, and for the members inside, under the names that lead there.
    fn rows(&mut self, schema: &Value, before: &str) {
        let required: Vec<&str> = items(member(schema, "required")).filter_map(Value::as_str).collect();
        for (name, entry) in members(member(schema, "properties")) {
            let path = format!("{before}{name}");
            let needed = if required.contains(&name.as_str()) { "yes" } else { "" };
            let meaning = text(entry, "description").replace('|', "\\|");
            let line = format!("| `{path}` | {} | {needed} | {meaning} |", kind(entry));
            self.say(&line);
            let list = member(entry, "items");
            let alternative = items(member(entry, "oneOf")).find(|form| !member(form, "properties").is_null());
            if !list.is_null() {
                self.rows(list, &format!("{path}[]."));
            } else {
                self.rows(alternative.unwrap_or(entry), &format!("{path}."));
            }
        }
    }

    fn errors(&mut self) {
        self.say("\n## Errors\n\n| code | meaning |\n|---|---|");
        let schema = self.schema("Error");
        for entry in items(member(schema, "x-codes")) {
            let line = format!("| {} | {} |", member(entry, "code"), text(entry, "meaning"));
            self.say(&line);
        }
        for example in items(member(schema, "examples")) {
            self.say(&format!("\n```json\n{example:#}\n```"));
        }
    }
}

/// Returns the type of a member, in words.
fn kind(schema: &Value) -> String {
    if let Some(name) = name_of(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let names: Vec<String> = items(member(schema, "enum"))
        .map(|name| format!("`{}`", name.as_str().unwrap_or_default()))
        .collect();
    if !names.is_empty() {
        return names.join(", ");
    }
    let forms: Vec<String> = items(member(schema, "oneOf")).map(kind).collect();
    if !forms.is_empty() {
        return forms.join(" or ");
    }
    match text(schema, "type") {
        "array" => format!("list of {}", kind(member(schema, "items"))),
        "" => match member(schema, "const").as_str() {
            Some(value) => format!("`{value}`"),
            None => "any".to_owned(),
        },
        name => name.to_owned(),
    }
}
