//! Conversations: the pieces that were judged, and their sessions.
//!
//! A request of an agent holds all that was said so far. Its pieces make a chain: each is tied to all that came before it, to the caller, and to the
//! conversation if the agent names one. A request that begins as one that was judged before goes on in its session, and only the rest is judged. One
//! that begins so and goes on otherwise is another conversation: it is judged as a whole, in a session of its own, so that one user's requests count
//! for no other.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use moka::sync::Cache;

use super::json::Json;
use super::judged_units::Digest;
use crate::wire::chat::ChatItem;

/// The memory of conversations on one route. Bounded in bytes; what is forgotten is judged again.
pub(super) struct Conversations {
    judged: Cache<Digest, Judged>,
    /// Answers that are stored where the model is, by their ids.
    stored: Cache<Digest, Stored>,
}

/// One conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    /// The session of its steps.
    pub(super) session: String,
    /// The latest end of its chain.
    tip: Mutex<Digest>,
}

/// A piece that was judged.
#[derive(Clone)]
struct Judged {
    conversation: Arc<Conversation>,
    became: Became,
}

/// The form in which a piece went on to the model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Became {
    /// It went on as it was.
    Same,
    /// It went on with what these parameters of its step hold.
    Edited(Arc<Json>),
    /// These words went on in its place.
    Denied(Arc<str>),
}

/// The place of a stored answer in a conversation.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) conversation: Arc<Conversation>,
    pub(super) end: Digest,
    /// The results that the model is told for calls that its agent never saw.
    pub(super) results: Arc<Vec<Json>>,
    /// Its id where the model is, if its agent was told another: a stream says at its beginning which id it will have.
    pub(super) known_there_as: Option<Arc<str>>,
}

const JUDGED_BYTES: u64 = 32 * 1024 * 1024;
const STORED_BYTES: u64 = 8 * 1024 * 1024;
const ENTRY_BYTES: usize = 256;
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for Conversations {
    fn default() -> Self {
        let weighed = |bytes: usize| u32::try_from(bytes.saturating_add(ENTRY_BYTES)).unwrap_or(u32::MAX);
        let judged = Cache::builder().max_capacity(JUDGED_BYTES).time_to_idle(KEPT_FOR);
        let stored = Cache::builder().max_capacity(STORED_BYTES).time_to_idle(KEPT_FOR);
        Self {
            judged: judged
                .weigher(move |_, judged: &Judged| weighed(judged.became.bytes()))
                .build(),
            stored: stored
                .weigher(move |_, stored: &Stored| weighed(stored.results.iter().map(Json::bytes).sum()))
                .build(),
        }
    }
}

impl Became {
    fn bytes(&self) -> usize {
        match self {
            Became::Same => 0,
            Became::Edited(params) => params.bytes(),
            Became::Denied(words) => words.len(),
        }
    }
}

impl Conversation {
    pub(super) fn new(session: String) -> Arc<Self> {
        let tip = Mutex::default();
        Arc::new(Self { session, tip })
    }

    fn is_at(&self, end: Digest) -> bool {
        *self.tip.lock().unwrap_or_else(PoisonError::into_inner) == end
    }
}

/// The part of a request that was judged before.
pub(super) struct JudgedBefore {
    /// `None` if it begins anew.
    pub(super) conversation: Option<Arc<Conversation>>,
    /// The form of each of its first pieces.
    pub(super) became: Vec<Became>,
}

impl Conversations {
    /// Returns the part of a chain that was judged before. `named` says that the agent names its conversation: then nothing in it is another one.
    pub(super) fn known(&self, chain: &[Digest], named: Named) -> JudgedBefore {
        let judged: Vec<Judged> = chain.iter().map_while(|digest| self.judged.get(digest)).collect();
        let (Some(last), Some(end)) = (judged.last(), judged.len().checked_sub(1).and_then(|at| chain.get(at))) else {
            return JudgedBefore {
                conversation: None,
                became: Vec::new(),
            };
        };
        let goes_on_otherwise = judged.len() < chain.len() && !last.conversation.is_at(*end);
        if goes_on_otherwise && named == Named::No {
            return JudgedBefore {
                conversation: None,
                became: Vec::new(),
            };
        }
        JudgedBefore {
            conversation: Some(Arc::clone(&last.conversation)),
            became: judged.into_iter().map(|judged| judged.became).collect(),
        }
    }

    /// Remembers that a conversation came to this end.
    pub(super) fn remember(&self, end: Digest, conversation: &Arc<Conversation>, became: Became) {
        *conversation.tip.lock().unwrap_or_else(PoisonError::into_inner) = end;
        let conversation = Arc::clone(conversation);
        self.judged.insert(end, Judged { conversation, became });
    }

    /// Remembers the place of an answer that is stored under this id.
    pub(super) fn store(&self, id: Digest, stored: Stored) {
        self.stored.insert(id, stored);
    }

    /// Returns the place of a stored answer.
    pub(super) fn stored(&self, id: Digest) -> Option<Stored> {
        self.stored.get(&id)
    }
}

/// The naming of a conversation by the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Yes,
    No,
}

/// Returns the end of a chain that goes on with this piece. Numbers of calls and the order of members do not count; its words do.
pub(super) fn next(before: Digest, said: &ChatItem) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before);
    let mut add = |text: &str| {
        hasher.update(&text.len().to_le_bytes());
        hasher.update(text.as_bytes());
    };
    match said {
        ChatItem::Words { who, parts } => {
            add("words");
            add(&format!("{who:?}"));
            // Agents write one text as a string or as a part.
            let texts: String = parts.iter().filter_map(|part| part.value.as_str()).collect();
            add(texts.trim());
        }
        ChatItem::Call(call) => ["call", &call.id, &call.name, &call.arguments.write()]
            .into_iter()
            .for_each(add),
        ChatItem::Result(result) => {
            add("result");
            add(&result.id);
            result.parts.iter().for_each(|part| add(&part.value.write()));
        }
    }
    hasher.finalize().into()
}

/// Returns the beginning of a chain.
pub(super) fn beginning(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&part.len().to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}
