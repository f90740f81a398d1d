//! A JSON document as a flat table of nodes over its own bytes.
//!
//! The document is never rebuilt: every node is a span of the text as it was received, so that what was judged is byte for byte what was sent, and an
//! edit can replace one string token and leave the rest alone. The table is strict where two readers of one text could disagree: duplicate keys,
//! depth, surrogates, encoding. Numbers are kept as they are written, however long. It knows nothing of JSON-RPC or of any protocol.

mod escape;
mod fault;
mod keys;
mod number;
mod parse;

use std::borrow::Cow;
use std::ops::Range;

pub(super) use escape::{quote, unquote};
pub(super) use fault::{Fault, FaultKind};
pub(super) use parse::{Bounds, parse};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// The handle of a node: its index in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

/// One value of the document.
#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    /// Bytes of the value, quotes and brackets included.
    start: u32,
    end: u32,
    /// Bytes of the member's name, without quotes; empty at 0 where there is none.
    key_start: u32,
    key_end: u32,
    /// The node that holds this one; the root holds itself.
    parent: u32,
    /// The index of the first node after this one and everything in it.
    after: u32,
    /// The spelling of the name.
    key_spelling: Spelling,
}

/// The spelling of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// As it is.
    Plain,
    /// With escapes.
    Escaped,
}

impl Node {
    /// Stands in for a node that is not there.
    const NOTHING: Node = Node {
        kind: Kind::Null,
        start: 0,
        end: 0,
        key_start: 0,
        key_end: 0,
        parent: 0,
        after: 0,
        key_spelling: Spelling::Plain,
    };

    fn has_key(&self) -> bool {
        self.key_start != 0
    }
}

/// A parsed document.
#[derive(Debug)]
pub(crate) struct Table<'j> {
    text: &'j str,
    nodes: Vec<Node>,
    strings: usize,
}

impl<'j> Table<'j> {
    /// Returns the number of its values that are strings.
    pub(super) fn strings(&self) -> usize {
        self.strings
    }

    /// The whole document.
    pub(crate) const ROOT: NodeId = NodeId(0);

    fn node(&self, id: NodeId) -> Node {
        self.nodes.get(id.0 as usize).copied().unwrap_or(Node::NOTHING)
    }

    fn slice(&self, start: u32, end: u32) -> &'j str {
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the kind of the node.
    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        self.node(id).kind
    }

    /// Returns the node's bytes in the document.
    pub(super) fn span(&self, id: NodeId) -> Range<usize> {
        let node = self.node(id);
        node.start as usize..node.end as usize
    }

    /// Returns the node as it is written.
    pub(crate) fn raw(&self, id: NodeId) -> &'j str {
        let node = self.node(id);
        self.slice(node.start, node.end)
    }

    /// Returns the name of the member that this node is, unescaped.
    pub(crate) fn key(&self, id: NodeId) -> Option<Cow<'j, str>> {
        let node = self.node(id);
        if !node.has_key() {
            return None;
        }
        let raw = self.slice(node.key_start, node.key_end);
        Some(match node.key_spelling {
            Spelling::Plain => Cow::Borrowed(raw),
            Spelling::Escaped => escape::unescape(raw),
        })
    }

    /// Returns the value of a string node, unescaped.
    pub(crate) fn text(&self, id: NodeId) -> Option<Cow<'j, str>> {
        let node = self.node(id);
        (node.kind == Kind::String).then(|| escape::unescape(self.slice(node.start + 1, node.end.saturating_sub(1))))
    }

    /// Returns the node that holds this one.
    pub(super) fn parent(&self, id: NodeId) -> NodeId {
        NodeId(self.node(id).parent)
    }

    /// Returns the first node after this one and everything in it.
    pub(super) fn after(&self, id: NodeId) -> NodeId {
        NodeId(self.node(id).after)
    }

    /// Returns every node below this one, in document order.
    pub(super) fn below(&self, id: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        (id.0 + 1..self.node(id).after).map(NodeId)
    }

    /// Returns the direct children of an array or object, in document order.
    pub(crate) fn children(&self, id: NodeId) -> Children<'_, 'j> {
        Children {
            table: self,
            next: id.0 + 1,
            end: self.node(id).after,
        }
    }

    /// Returns the member of this name.
    pub(super) fn member(&self, id: NodeId, name: &str) -> Option<NodeId> {
        if self.kind(id) != Kind::Object {
            return None;
        }
        self.children(id).find(|child| {
            let node = self.node(*child);
            let raw = self.slice(node.key_start, node.key_end);
            match node.key_spelling {
                Spelling::Plain => raw == name,
                Spelling::Escaped => escape::unescape(raw) == name,
            }
        })
    }

    /// Returns the member of this name, unless it is `null`.
    pub(super) fn given(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.member(id, name).filter(|node| self.kind(*node) != Kind::Null)
    }

    /// Returns the text of the string member of this name.
    pub(super) fn text_of(&self, id: NodeId, name: &str) -> Option<Cow<'j, str>> {
        self.member(id, name).and_then(|node| self.text(node))
    }

    /// Describes the node in words for an error message.
    pub(super) fn describe(&self, id: NodeId) -> &'static str {
        match self.kind(id) {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        }
    }

    /// Describes the member of this name in words for an error message.
    pub(super) fn describe_member(&self, id: NodeId, name: &str) -> &'static str {
        self.member(id, name).map_or("nothing", |member| self.describe(member))
    }

    /// Returns the JSON Pointer of a node, counted from `root`.
    pub(super) fn pointer(&self, root: NodeId, id: NodeId) -> String {
        let mut path = Vec::new();
        let mut at = id;
        while at > root {
            path.push(at);
            at = self.parent(at);
        }
        let mut pointer = String::new();
        for step in path.into_iter().rev() {
            match self.key(step) {
                Some(key) => push_key(&mut pointer, &key),
                None => {
                    let before = self.children(self.parent(step)).take_while(|child| *child < step);
                    push_index(&mut pointer, before.count());
                }
            }
        }
        pointer
    }
}

/// The direct children of a node.
#[derive(Clone, Debug)]
pub(crate) struct Children<'t, 'j> {
    table: &'t Table<'j>,
    next: u32,
    end: u32,
}

impl Iterator for Children<'_, '_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next >= self.end {
            return None;
        }
        let child = NodeId(self.next);
        self.next = self.table.node(child).after.max(self.next + 1);
        Some(child)
    }
}

/// Appends a member's name to a JSON Pointer (RFC 6901).
pub(super) fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    if !key.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        pointer.push_str(key);
        return;
    }
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            plain => pointer.push(plain),
        }
    }
}

/// Appends an array index to a JSON Pointer.
pub(super) fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    let mut power = 1_usize;
    while let Some(next) = power.checked_mul(10).filter(|next| *next <= index) {
        power = next;
    }
    let mut rest = index;
    while power > 0 {
        let digit = u8::try_from(rest / power).unwrap_or(0);
        pointer.push(char::from(b'0'.saturating_add(digit)));
        rest %= power;
        power /= 10;
    }
}

#[cfg(test)]
mod tests;
