//! Items: the events of a stream of Responses about each item, checked against its end.
//!
//! Clients act on different events: on the item that begins, on its pieces, on the item that is done, or on the whole response at the end. Only
//! the response is judged, so all of them have to say the same.

use std::collections::BTreeMap;

use super::event_effect::{EventEffect, ODD, index_of};
use crate::gateway::json::Json;
use crate::wire::chat::{self, RunBy};

/// Items of one answer, at most.
const MAX_ITEMS: usize = 1024;
/// Members of a call by which agents act.
const OF_CALL: [&str; 7] = ["type", "call_id", "name", "arguments", "input", "action", "operation"];
/// Endings of events that tell a text of an item in pieces, or as a whole; with the member that holds it, and whether it belongs to a call.
const TEXTS: [(&str, &str, bool); 4] = [
    ("output_text", "text", false),
    ("refusal", "refusal", false),
    ("function_call_arguments", "arguments", true),
    ("custom_tool_call_input", "input", true),
];

/// Other events about an item, by the first part of their name. Events of other names do not go on.
const PROGRESS: [&str; 18] = [
    "audio",
    "code_interpreter_call",
    "code_interpreter_call_code",
    "computer_call",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "mcp_call",
    "mcp_call_arguments",
    "mcp_list_tools",
    "output_text",
    "reasoning",
    "reasoning_summary",
    "reasoning_summary_part",
    "reasoning_summary_text",
    "reasoning_text",
    "shell_call",
    "web_search_call",
];

/// The items of an answer, by their index.
#[derive(Default)]
pub(super) struct Items {
    items: BTreeMap<usize, Item>,
}

#[derive(Default)]
struct Item {
    /// The item as it was told when it began.
    begun: Option<Json>,
    /// The item as it was told when it was done.
    done: Option<Json>,
    /// Its texts so far, by member and content.
    texts: BTreeMap<(&'static str, usize), String>,
}

impl Items {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    fn done(&self) -> usize {
        self.items.values().filter(|item| item.done.is_some()).count()
    }

    /// Takes an event that is not the last one.
    pub(super) fn add(&mut self, event: &Json) -> Result<EventEffect, &'static str> {
        let kind = event.str_of("type").unwrap_or_default();
        match kind {
            "response.output_item.added" => self.begin(event.get("item").ok_or(ODD)?, event),
            "response.output_item.done" => self.end(event.get("item").ok_or(ODD)?, event),
            "response.created" | "response.queued" | "response.in_progress" => {
                let output = event.at(&["response", "output"]);
                match output.is_none_or(|output| output.items().is_empty()) {
                    true => Ok(EventEffect::Says),
                    false => Err(ODD),
                }
            }
            _ => {
                let Some((of, how)) = kind.strip_prefix("response.").and_then(|kind| kind.rsplit_once('.')) else {
                    return Ok(EventEffect::Drops);
                };
                let text = TEXTS.iter().find(|text| text.0 == of);
                match (text, of.split('.').next()) {
                    (Some((_, member, of_call)), _) => self.tell(event, member, *of_call, how),
                    (None, Some("content_part")) => self.part(event),
                    (None, Some(of)) if PROGRESS.contains(&of) => Ok(EventEffect::Says),
                    (None, _) => Ok(EventEffect::Drops),
                }
            }
        }
    }

    fn begin(&mut self, item: &Json, event: &Json) -> Result<EventEffect, &'static str> {
        let at = index_of(event, "output_index")?.unwrap_or(self.items.len());
        let known = self.item(at)?;
        if known.begun.replace(item.clone()).is_some() || known.done.is_some() {
            return Err(ODD);
        }
        let kind = item.str_of("type").unwrap_or_default();
        Ok(match chat::run_by(kind) {
            None if kind == "message" => EventEffect::Frees,
            // A call that runs where the model is runs already.
            Some(RunBy::Provider) => EventEffect::Says,
            None if kind != "reasoning" => EventEffect::Says,
            Some(RunBy::Agent) | None => EventEffect::Holds,
        })
    }

    fn end(&mut self, item: &Json, event: &Json) -> Result<EventEffect, &'static str> {
        // Some tell of an item only when it is done.
        let at = index_of(event, "output_index")?.unwrap_or_else(|| self.done());
        let known = self.item(at)?;
        if !known.agrees_with(item) || known.done.replace(item.clone()).is_some() {
            return Err(ODD);
        }
        Ok(if is_call(item) {
            EventEffect::Holds
        } else {
            EventEffect::Says
        })
    }

    fn tell(
        &mut self,
        event: &Json,
        member: &'static str,
        of_call: bool,
        how: &str,
    ) -> Result<EventEffect, &'static str> {
        let piece = event.str_of(if how == "delta" { "delta" } else { member });
        let (item, content) = self.place(event)?;
        if item.done.is_some() || (of_call && item.begun.is_none()) {
            return Err(ODD);
        }
        let text = item.texts.entry((member, content)).or_default();
        match how {
            "delta" => text.push_str(piece.unwrap_or_default()),
            "done" => whole(text, piece.unwrap_or_default())?,
            _ => return Err(ODD),
        }
        Ok(if of_call { EventEffect::Holds } else { EventEffect::Says })
    }

    /// Takes a part of a message that begins or ends: its text is the one that the item has there.
    fn part(&mut self, event: &Json) -> Result<EventEffect, &'static str> {
        let part = event.get("part").ok_or(ODD)?;
        let said = TEXTS.iter().find(|text| part.str_of("type") == Some(text.0));
        let said = said.and_then(|(_, member, _)| Some((*member, part.str_of(member)?)));
        if let Some((member, piece)) = said.filter(|(_, piece)| !piece.is_empty()) {
            let (item, content) = self.place(event)?;
            whole(item.texts.entry((member, content)).or_default(), piece)?;
        }
        Ok(EventEffect::Says)
    }

    /// Returns the item and the content that an event is about.
    fn place(&mut self, event: &Json) -> Result<(&mut Item, usize), &'static str> {
        let at = index_of(event, "output_index")?.unwrap_or(self.items.len().saturating_sub(1));
        let content = event.get("content_index").and_then(Json::as_index).unwrap_or_default();
        Ok((self.item(at)?, content))
    }

    /// Returns the output of the whole response, if it agrees with what was said before. Some leave out of it what they said.
    pub(super) fn output(&self, told: &[Json]) -> Result<Vec<Json>, &'static str> {
        let output: Vec<Json> = match told {
            [] => self.items.values().filter_map(|item| item.done.clone()).collect(),
            told => told.to_vec(),
        };
        let whole = self
            .items
            .iter()
            .all(|(at, item)| output.get(*at).is_some_and(|told| item.agrees_with(told)));
        if whole { Ok(output) } else { Err(ODD) }
    }

    fn item(&mut self, at: usize) -> Result<&mut Item, &'static str> {
        // Items follow each other.
        if at > self.items.len() || at >= MAX_ITEMS {
            return Err(ODD);
        }
        Ok(self.items.entry(at).or_default())
    }
}

impl Item {
    /// Returns `true` if an item agrees with what was told of it.
    fn agrees_with(&self, told: &Json) -> bool {
        let begun = self.begun.as_ref().is_none_or(|begun| {
            let of_agent = matches!(run_by(begun), Some(RunBy::Agent));
            OF_CALL.iter().all(|name| match begun.get(name) {
                // It grows.
                None | Some(Json::Null) => true,
                Some(Json::Text(text)) if text.is_empty() => true,
                // A call that runs where the model is may change until it is done.
                said => !of_agent && *name != "type" || said == told.get(name),
            })
        });
        let done = self
            .done
            .as_ref()
            .is_none_or(|done| match is_call(done) || is_call(told) {
                true => OF_CALL.iter().all(|name| done.get(name) == told.get(name)),
                false => words(done).eq(words(told)),
            });
        let texts = self.texts.iter().all(|((member, content), text)| {
            let of_content = told.get("content").and_then(|parts| parts.items().get(*content));
            let whole = match *member {
                "text" | "refusal" => of_content.and_then(|part| part.str_of(member)),
                member => told.str_of(member),
            };
            whole == Some(text)
        });
        begun && done && texts
    }
}

/// Takes a text as a whole: what was told of it before in pieces says the same.
fn whole(text: &mut String, piece: &str) -> Result<(), &'static str> {
    if !text.is_empty() && text != piece {
        return Err(ODD);
    }
    piece.clone_into(text);
    Ok(())
}

/// Returns the words of a message.
fn words(item: &Json) -> impl Iterator<Item = (Option<&str>, Option<&str>)> {
    let parts = item.get("content").map_or(&[][..], Json::items);
    parts.iter().map(|part| (part.str_of("text"), part.str_of("refusal")))
}

fn is_call(item: &Json) -> bool {
    run_by(item).is_some()
}

fn run_by(item: &Json) -> Option<RunBy> {
    item.str_of("type").and_then(chat::run_by)
}
