//! The draft that a protocol module makes of a request, before its strings are walked.

use std::borrow::Cow;

use crate::model::{
    Agent, Argument, Fact, FactKind, Kind, Method, Pointer, Remark, RemarkKind, SessionId, Ties, Tool, UserId,
};

use super::aos::Context;
use super::json::{self, NodeId, Table};
use super::jsonrpc::RpcError;
use super::leniency::Leniency;
use super::zone::Anchors;

/// A request, understood but for its strings.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) kind: Kind,
    /// The method of the message inside, where the method of the request only says that there is one.
    pub(super) method: Option<Method>,
    pub(super) agent: Option<Agent>,
    pub(super) session: Option<SessionId>,
    pub(super) user: Option<UserId>,
    pub(super) ties: Ties,
    pub(super) facts: Vec<Fact>,
    pub(super) tool_call: Option<CallDraft>,
    pub(super) announced_tools: Vec<Tool>,
    pub(super) remarks: Vec<Remark>,
    pub(super) anchors: Anchors,
}

/// A tool call, before the content that names the tool has an id.
#[derive(Debug)]
pub(super) struct CallDraft {
    pub(super) tool: String,
    pub(super) tool_node: NodeId,
    pub(super) arguments: Vec<Argument>,
}

impl Draft {
    /// Makes a draft with a kind and a context.
    pub(super) fn new(kind: Kind, context: Context, anchors: Anchors) -> Self {
        Self {
            kind,
            method: None,
            agent: context.agent,
            session: context.session,
            user: context.user,
            ties: Ties {
                step: context.step,
                call: None,
                turn: context.turn,
                request: None,
            },
            facts: context.facts,
            tool_call: None,
            announced_tools: Vec::new(),
            remarks: context.remarks,
            anchors,
        }
    }

    /// Notes an oddity that is no error.
    pub(super) fn remark(&mut self, pointer: String, what: impl Into<String>) {
        self.remarks.push(Remark {
            pointer: Pointer::new(pointer),
            what: what.into(),
            kind: RemarkKind::Oddity,
        });
    }

    /// Notes a fact.
    pub(super) fn fact(&mut self, kind: FactKind, text: &str) {
        push_fact(&mut self.facts, kind, text);
    }

    /// Notes the value under this name as a fact: a text, or a number.
    pub(super) fn fact_of(&mut self, table: &Table<'_>, object: NodeId, name: &str, kind: FactKind) {
        self.facts.extend(fact_of(table, object, name, kind));
        self.facts.truncate(MAX_FACTS);
    }

    /// Notes a leniency, the first time it is made.
    pub(super) fn lenient(&mut self, pointer: String, leniency: Leniency) {
        note(&mut self.remarks, pointer, leniency);
    }
}

/// Facts that are kept of a step.
const MAX_FACTS: usize = 24;
/// Characters of a fact.
const MAX_FACT: usize = 120;

fn push_fact(facts: &mut Vec<Fact>, kind: FactKind, text: &str) {
    let text = text.trim();
    if text.is_empty() || facts.len() >= MAX_FACTS {
        return;
    }
    let text = match text.char_indices().nth(MAX_FACT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    };
    facts.push(Fact { kind, text });
}

/// Returns the fact that stands under this name: a text, or a number.
pub(super) fn fact_of(table: &Table<'_>, object: NodeId, name: &str, kind: FactKind) -> Option<Fact> {
    let node = table.given(object, name)?;
    let mut facts = Vec::new();
    match table.kind(node) {
        json::Kind::String => push_fact(&mut facts, kind, &table.text(node)?),
        json::Kind::Number => push_fact(&mut facts, kind, table.raw(node)),
        json::Kind::Null | json::Kind::Bool | json::Kind::Array | json::Kind::Object => {}
    }
    facts.pop()
}

/// Notes a leniency, unless it is noted already: a diagnostic says that it was made, not how often.
pub(super) fn note(remarks: &mut Vec<Remark>, pointer: String, leniency: Leniency) {
    let kind = RemarkKind::Leniency(leniency.code());
    if remarks.iter().all(|remark| remark.kind != kind) {
        remarks.push(leniency.remark(pointer));
    }
}

/// Bytes of the longest name that is compared with those that the protocol defines.
const MAX_MISSPELT: usize = 24;

/// Returns the first member of an object whose name is spelled nearly like this one: in other case, with other signs, with `id` behind it, or with up
/// to two letters changed (of a name of up to four letters, one).
fn misspelt<'j>(table: &Table<'j>, object: NodeId, name: &str) -> Option<(NodeId, Cow<'j, str>)> {
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let wanted = plain(name);
    let changes = if wanted.len() > 4 { 2 } else { 1 };
    table.children(object).find_map(|node| {
        let key = table
            .key(node)
            .filter(|key| key.len() <= MAX_MISSPELT && *key != name)?;
        let said = plain(&key);
        let near = strsim::osa_distance(&said, &wanted) <= changes || said.strip_prefix(&*wanted) == Some("id");
        near.then_some((node, key))
    })
}

/// A request whose fields are being checked.
#[derive(Clone, Copy)]
pub(super) struct Checked<'t, 'j> {
    pub(super) table: &'t Table<'j>,
    /// The request, from which pointers are counted.
    pub(super) root: NodeId,
}

impl<'j> Checked<'_, 'j> {
    /// Returns the pointer to a node.
    pub(super) fn pointer(self, node: NodeId) -> String {
        self.table.pointer(self.root, node)
    }

    /// Refuses a node that is not of this kind.
    pub(super) fn expect(self, node: NodeId, kind: json::Kind, expected: &str) -> Result<(), RpcError> {
        if self.table.kind(node) == kind {
            return Ok(());
        }
        Err(self.wrong(node, expected))
    }

    /// Returns the member of this name, or refuses.
    pub(super) fn required(self, object: NodeId, name: &str, expected: &str) -> Result<NodeId, RpcError> {
        self.table
            .given(object, name)
            .ok_or_else(|| self.missing(object, name, expected))
    }

    /// Returns the member of this name, which must be an object.
    pub(super) fn required_object(self, object: NodeId, name: &str, expected: &str) -> Result<NodeId, RpcError> {
        let node = self.required(object, name, expected)?;
        self.expect(node, json::Kind::Object, expected)?;
        Ok(node)
    }

    /// Returns the member of this name, which must be an object if it is given.
    pub(super) fn object(self, object: NodeId, name: &str, expected: &str) -> Result<Option<NodeId>, RpcError> {
        let node = self.table.given(object, name);
        if let Some(node) = node {
            self.expect(node, json::Kind::Object, expected)?;
        }
        Ok(node)
    }

    /// Returns the id under this name: a string, or a number, whose digits are its text.
    pub(super) fn id(self, object: NodeId, name: &str, remarks: &mut Vec<Remark>) -> Result<Option<String>, RpcError> {
        let Some(node) = self.table.given(object, name) else {
            return Ok(None);
        };
        if self.table.kind(node) == json::Kind::Number {
            note(remarks, self.pointer(node), Leniency::NumericId);
            return Ok(Some(self.table.raw(node).to_owned()));
        }
        self.expect(node, json::Kind::String, "a string")?;
        Ok(self.table.text(node).map(|text| text.into_owned()))
    }

    /// Returns the items of a list: those of an array, or one object alone.
    pub(super) fn items(
        self,
        node: NodeId,
        expected: &str,
        remarks: &mut Vec<Remark>,
    ) -> Result<Vec<NodeId>, RpcError> {
        match self.table.kind(node) {
            json::Kind::Array => Ok(self.table.children(node).collect()),
            json::Kind::Object => {
                note(remarks, self.pointer(node), Leniency::SingleForList);
                Ok(vec![node])
            }
            _ => Err(self.wrong(node, expected)),
        }
    }

    /// Returns the text of a member, which must be a string if it is given.
    pub(super) fn string(self, object: NodeId, name: &str) -> Result<Option<String>, RpcError> {
        let Some(node) = self.table.given(object, name) else {
            return Ok(None);
        };
        self.expect(node, json::Kind::String, "a string")?;
        Ok(self.table.text(node).map(|text| text.into_owned()))
    }

    /// Returns the error that a node is not what was expected.
    pub(super) fn wrong(self, node: NodeId, expected: &str) -> RpcError {
        RpcError::invalid_params(self.pointer(node), expected, self.table.describe(node))
    }

    /// Returns the error that a member is missing or `null`.
    pub(super) fn missing(self, object: NodeId, name: &str, expected: &str) -> RpcError {
        let mut pointer = self.pointer(object);
        json::push_key(&mut pointer, name);
        let found = self.table.describe_member(object, name);
        match misspelt(self.table, object, name) {
            Some((_, key)) => RpcError::invalid_params(pointer, expected, &format!("{found}, but a member `{key}`")),
            None => match self.elsewhere(name).filter(|place| *place != pointer) {
                Some(place) => RpcError::invalid_params(pointer, expected, &format!("{found}, but one at `{place}`")),
                None => RpcError::invalid_params(pointer, expected, found),
            },
        }
    }

    /// Notes the names that an object lacks, where it has a member spelled nearly so.
    pub(super) fn note_misspelt(self, object: NodeId, names: &[(&str, Leniency)], remarks: &mut Vec<Remark>) {
        for (name, leniency) in names {
            if self.table.given(object, name).is_none()
                && let Some((node, key)) = misspelt(self.table, object, name)
                && names.iter().all(|(known, _)| *known != key)
            {
                self.note_name(node, &key, (object, name), *leniency, remarks);
            }
        }
    }

    /// Notes the names that an object lacks, where one of its surroundings has a member of that name.
    pub(super) fn note_misplaced(self, object: NodeId, names: &[(&str, Leniency)], remarks: &mut Vec<Remark>) {
        let around = self.table.parent(object);
        for holder in [around, self.root] {
            for (name, _) in names {
                let exact = self.table.given(holder, name).map(|node| (node, Cow::Borrowed(*name)));
                if self.table.given(object, name).is_none()
                    && let Some((node, key)) = exact.or_else(|| misspelt(self.table, holder, name))
                {
                    self.note_name(node, &key, (object, name), Leniency::MisplacedMember, remarks);
                }
            }
        }
    }

    /// Notes a name that was not read: its place, and the expected name and place.
    fn note_name(
        self,
        node: NodeId,
        key: &str,
        (object, expected): (NodeId, &str),
        leniency: Leniency,
        remarks: &mut Vec<Remark>,
    ) {
        /// Names that are reported of one step.
        const MAX_NAMES: usize = 8;
        let told = |remark: &&Remark| {
            Leniency::NAMES
                .iter()
                .any(|known| remark.kind == RemarkKind::Leniency(known.code()))
        };
        let (place, holder) = (self.pointer(object), self.pointer(self.table.parent(node)));
        let what = format!("expected `{expected}` in `{place}`, found `{key}` in `{holder}`, which was not read as it");
        let known = remarks.iter().any(|remark| remark.what == what);
        if !known && remarks.iter().filter(told).count() < MAX_NAMES {
            let kind = RemarkKind::Leniency(leniency.code());
            let pointer = Pointer::new(self.pointer(node));
            remarks.push(Remark { pointer, what, kind });
        }
    }

    /// Returns another place in the request where a member of this name stands.
    fn elsewhere(self, name: &str) -> Option<String> {
        /// Values that are looked at.
        const MAX_LOOKED_AT: usize = 2_000;
        let mut nodes = self.table.below(self.root).take(MAX_LOOKED_AT);
        let node = nodes.find(|node| self.table.key(*node).is_some_and(|key| key == name))?;
        Some(self.pointer(node))
    }

    /// Makes one argument of a call; one without a value is `null`.
    pub(super) fn argument(self, name: String, pointer: String, value: Option<NodeId>) -> Argument {
        Argument {
            name,
            pointer: Pointer::new(pointer),
            json: value.map_or("null", |value| self.table.raw(value)).to_owned(),
        }
    }
}
