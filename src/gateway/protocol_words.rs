//! The protocols' own words: names of members, the ids and stamps that they hold, and the words that the protocols give them.

use super::json::Json;
use crate::wire::is_identifier;

/// Identifiers longer than this are not relayed.
pub(super) const MAX_ID_BYTES: usize = 256;

/// The description of an answer with a longer one.
pub(super) const LONG_ID: &str = "something with an id of more than 256 bytes";

/// Returns `true` if a message names a task, a conversation or the like with more than [`MAX_ID_BYTES`] bytes.
pub(super) fn has_long_id(message: &Json) -> bool {
    match message {
        Json::Object(members) => members.iter().any(|(name, member)| match member {
            Json::Text(text) => IDS.has(name) && text.len() > MAX_ID_BYTES,
            member => has_long_id(member),
        }),
        Json::Array(items) => items.iter().any(has_long_id),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => false,
    }
}

/// Visits the identifiers in a value, which is that of a member of this name.
pub(super) fn each_identifier(value: &Json, name: &str, seen: &mut impl FnMut(&str)) {
    match value {
        Json::Object(members) => members
            .iter()
            .for_each(|(name, member)| each_identifier(member, name, seen)),
        Json::Array(items) => items.iter().for_each(|item| each_identifier(item, name, seen)),
        Json::Text(text) if is_id_or_word(name) && !is_protocol_word(name, text) => seen(text),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}

/// Returns `true` if a refusal may repeat an id: the caller named it, or it holds no words of what was denied.
pub(super) fn may_repeat(id: &str, asked: Option<&str>) -> bool {
    asked == Some(id) || is_identifier(id)
}

/// Returns `true` for a member whose value is an id, or a word of the protocols.
pub(super) fn is_id_or_word(name: &str) -> bool {
    IDS.has(name) || WORDS_OF.has(name)
}

/// Returns `true` if a text is one that the protocols themselves give to a member of this name.
pub(super) fn is_protocol_word(name: &str, text: &str) -> bool {
    if STAMPS.has(name) {
        return text.len() <= 40 && text.chars().all(|c| c.is_ascii_digit() || "TZtz:+-. ".contains(c));
    }
    if !WORDS_OF.has(name) || text.len() > 64 {
        return false;
    }
    let word = text.trim_start_matches("TASK_STATE_").to_ascii_lowercase();
    let word = word.replace(['_', '-'], "");
    WORDS.has(&word)
}

/// Words with a blank between them.
pub(super) struct Words(&'static str);

impl Words {
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.split(' ').any(|known| known == word)
    }
}

const IDS: Words = Words(
    "id taskId contextId messageId artifactId sessionId referenceTaskIds pushNotificationConfigId run_id request_id thread_id \
    agent pageToken nextPageToken tenant",
);

const STAMPS: Words = Words("timestamp createdAt updatedAt lastUpdated statusTimestampAfter lastUpdatedAfter");

/// Members whose values are words of the protocols.
const WORDS_OF: Words = Words(
    "jsonrpc method kind type role state status finish_reason mimeType mediaType protocolVersion acceptedOutputModes",
);

/// Those words, in lower case and without signs.
const WORDS: Words = Words(
    "2.0 task message statusupdate artifactupdate submitted working inputrequired completed canceled cancelled failed rejected \
    authrequired unspecified unknown user agent assistant system roleuser roleagent requeststarted requestcompleted runstarted \
    runcompleted turnend operationcomplete waitforinput success error running waiting application/json text/plain",
);

/// Names of members that a message without words may have.
pub(super) const NAMES: Words = Words(
    "jsonrpc id method params result error code message messages list task tasks taskId contextId messageId artifactId sessionId \
    referenceTaskIds pushNotificationConfigId pushNotificationConfig configs configuration run_id request_id thread_id agent \
    depth payload args kind type role state status finish_reason mimeType mediaType protocolVersion acceptedOutputModes timestamp \
    createdAt updatedAt lastUpdated statusTimestampAfter lastUpdatedAfter statusUpdate artifactUpdate artifact artifacts parts \
    content text data history metadata final append lastChunk historyLength pageSize pageToken nextPageToken totalSize \
    includeArtifacts blocking returnImmediately success tenant since stream wait event",
);

/// Members of the protocols whose numbers and flags say where a message stands, and change from one view to the next.
pub(super) const COUNTS: Words = Words(
    "id append lastChunk final depth historyLength pageSize totalSize includeArtifacts blocking returnImmediately stream wait since timestamp \
    createdAt updatedAt lastUpdated code",
);
