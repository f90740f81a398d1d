//! From bytes to the table: one pass, an explicit stack, no recursion.

use std::borrow::Cow;

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use super::escape::unescape;
use super::fault::{Fault, FaultKind};
use super::keys::{Names, Scope};
use super::{Kind, Node, Spelling, Table, number, push_index, push_key};

/// The bounds of the size of a document.
#[derive(Clone, Copy, Debug)]
pub(in crate::wire) struct Bounds {
    /// Levels of arrays and objects.
    pub(in crate::wire) depth: usize,
    /// Values, whole and parts alike.
    pub(in crate::wire) values: usize,
    /// Bytes.
    pub(in crate::wire) bytes: usize,
}

/// Reads a document.
///
/// # Errors
///
/// A [`Fault`] when it is not well-formed, when two readers could read it differently, or when it leaves its bounds.
pub(in crate::wire) fn parse(body: &[u8], bounds: Bounds) -> Result<Table<'_>, Fault> {
    // Offsets are 32-bit, one value is kept free.
    let most_bytes = bounds.bytes.min(u32::MAX as usize - 1);
    if body.len() > most_bytes {
        return Err(Fault::new(FaultKind::TooLong(most_bytes), "", 0, ""));
    }
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let valid = body.get(..error.valid_up_to()).unwrap_or_default();
            let text = std::str::from_utf8(valid).unwrap_or_default();
            return Err(Fault::new(FaultKind::NotUtf8, text, text.len(), ""));
        }
    };
    Reader::new(text, bounds).read()
}

/// An array or object that has not ended.
#[derive(Debug)]
struct Open<'j> {
    node: u32,
    /// The names of an object's members so far; `None` in an array.
    names: Option<Scope<'j>>,
}

/// A member's name, as a span; empty at 0 in arrays.
#[derive(Clone, Copy)]
struct KeySpan {
    start: u32,
    end: u32,
    spelling: Spelling,
}

impl KeySpan {
    const NONE: KeySpan = KeySpan {
        start: 0,
        end: 0,
        spelling: Spelling::Plain,
    };
}

/// The place where the next value begins.
struct Ahead {
    peek: Peek,
    key: KeySpan,
}

struct Reader<'j> {
    text: &'j str,
    jiter: Jiter<'j>,
    /// The place in the text where the tokenizer's own begins.
    base: usize,
    bounds: Bounds,
    nodes: Vec<Node>,
    strings: usize,
    open: Vec<Open<'j>>,
    names: Names<'j>,
}

impl<'j> Reader<'j> {
    fn new(text: &'j str, bounds: Bounds) -> Self {
        Self {
            text,
            jiter: Jiter::new(text.as_bytes()),
            base: 0,
            bounds,
            nodes: Vec::with_capacity((text.len() / 24).clamp(16, 4096)),
            strings: 0,
            open: Vec::with_capacity(16),
            names: Names::default(),
        }
    }

    fn read(mut self) -> Result<Table<'j>, Fault> {
        let peek = self.jiter.peek().map_err(|error| self.malformed(&error))?;
        let mut ahead = Ahead {
            peek,
            key: KeySpan::NONE,
        };
        loop {
            let mut next = self.value(&ahead)?;
            while next.is_none() {
                if self.open.is_empty() {
                    self.jiter.finish().map_err(|error| self.malformed(&error))?;
                    return Ok(Table {
                        text: self.text,
                        nodes: self.nodes,
                        strings: self.strings,
                    });
                }
                next = self.step()?;
            }
            if let Some(found) = next {
                ahead = found;
            }
        }
    }

    /// Reads a scalar, or opens an array or object; returns the first value inside, if there is one.
    fn value(&mut self, ahead: &Ahead) -> Result<Option<Ahead>, Fault> {
        if self.nodes.len() >= self.bounds.values {
            return Err(self.fault(FaultKind::TooManyValues(self.bounds.values)));
        }
        let start = self.at();
        let kind = match ahead.peek {
            Peek::String => Kind::String,
            Peek::Object => Kind::Object,
            Peek::Array => Kind::Array,
            Peek::True | Peek::False => Kind::Bool,
            Peek::Null => Kind::Null,
            _ => Kind::Number,
        };
        let id = as_u32(self.nodes.len());
        self.nodes.push(Node {
            kind,
            start: as_u32(start),
            end: 0,
            key_start: ahead.key.start,
            key_end: ahead.key.end,
            parent: self.open.last().map_or(0, |open| open.node),
            after: 0,
            key_spelling: ahead.key.spelling,
        });
        let read = match kind {
            Kind::Object => return self.open_object(id),
            Kind::Array => return self.open_array(id),
            Kind::String => {
                self.strings += 1;
                self.jiter.known_bytes().map(|_| ())
            }
            Kind::Bool => self.jiter.known_bool(ahead.peek).map(|_| ()),
            Kind::Null => self.jiter.known_null(),
            Kind::Number if ahead.peek.is_num() => self.number(ahead.peek, start),
            Kind::Number => return Err(self.fault(FaultKind::Malformed("expected a value".into()))),
        };
        if let Err(error) = read {
            return Err(self.malformed(&error));
        }
        let end = self.at();
        self.end(id, end);
        Ok(None)
    }

    /// Reads a number. One of more digits than the tokenizer takes is read here, and the tokenizer goes on behind it.
    fn number(&mut self, peek: Peek, start: usize) -> Result<(), JiterError> {
        let error = match self.jiter.known_number_bytes(peek) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let too_long = error.error_type == JiterErrorType::JsonError(JsonErrorType::NumberOutOfRange);
        match number::end_of(self.text, start).filter(|_| too_long) {
            Some(end) => {
                self.base = end;
                self.jiter = Jiter::new(self.text.as_bytes().get(end..).unwrap_or_default());
                Ok(())
            }
            None => Err(error),
        }
    }

    fn open_object(&mut self, id: u32) -> Result<Option<Ahead>, Fault> {
        self.descend(id, Some(self.names.open()))?;
        let key = match self.jiter.next_object_bytes() {
            Ok(Some(key)) => key_span(self.text, key),
            Ok(None) => return self.close(),
            Err(error) => return Err(self.malformed(&error)),
        };
        self.member(key)
    }

    fn open_array(&mut self, id: u32) -> Result<Option<Ahead>, Fault> {
        self.descend(id, None)?;
        match self.jiter.known_array() {
            Ok(first) => self.item(first),
            Err(error) => Err(self.malformed(&error)),
        }
    }

    fn descend(&mut self, node: u32, names: Option<Scope<'j>>) -> Result<(), Fault> {
        if self.open.len() >= self.bounds.depth {
            return Err(self.fault(FaultKind::TooDeep(self.bounds.depth)));
        }
        self.open.push(Open { node, names });
        Ok(())
    }

    /// Goes on in the innermost array or object; `None` when it has ended.
    fn step(&mut self) -> Result<Option<Ahead>, Fault> {
        if self.open.last().is_some_and(|open| open.names.is_some()) {
            let key = match self.jiter.next_key_bytes() {
                Ok(Some(key)) => key_span(self.text, key),
                Ok(None) => return self.close(),
                Err(error) => return Err(self.malformed(&error)),
            };
            self.member(key)
        } else {
            match self.jiter.array_step() {
                Ok(next) => self.item(next),
                Err(error) => Err(self.malformed(&error)),
            }
        }
    }

    fn item(&mut self, peek: Option<Peek>) -> Result<Option<Ahead>, Fault> {
        match peek {
            Some(peek) => Ok(Some(Ahead {
                peek,
                key: KeySpan::NONE,
            })),
            None => self.close(),
        }
    }

    fn member(&mut self, mut key: KeySpan) -> Result<Option<Ahead>, Fault> {
        let raw = self.text.get(key.start as usize..key.end as usize).unwrap_or_default();
        let name = unescape(raw);
        if matches!(name, Cow::Owned(_)) {
            key.spelling = Spelling::Escaped;
        }
        let fresh = match self.open.last_mut().and_then(|open| open.names.as_mut()) {
            Some(scope) => self.names.insert(scope, name),
            None => true,
        };
        if !fresh {
            return Err(self.fault_in(FaultKind::DuplicateKey, key.start as usize, Some(raw)));
        }
        match self.jiter.peek() {
            Ok(peek) => Ok(Some(Ahead { peek, key })),
            Err(error) => Err(self.malformed(&error)),
        }
    }

    fn close(&mut self) -> Result<Option<Ahead>, Fault> {
        if let Some(open) = self.open.pop() {
            if let Some(scope) = &open.names {
                self.names.close(scope);
            }
            self.end(open.node, self.at());
        }
        Ok(None)
    }

    fn end(&mut self, id: u32, end: usize) {
        let after = as_u32(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(id as usize) {
            node.end = as_u32(end);
            node.after = after;
        }
    }

    fn malformed(&self, error: &JiterError) -> Fault {
        let index = self.base + error.index;
        let kind = match &error.error_type {
            JiterErrorType::JsonError(JsonErrorType::LoneLeadingSurrogateInHexEscape)
            | JiterErrorType::JsonError(JsonErrorType::UnexpectedEndOfHexEscape) => FaultKind::LoneSurrogate,
            JiterErrorType::JsonError(other) => FaultKind::Malformed(other.to_string()),
            JiterErrorType::WrongType { .. } => FaultKind::Malformed("expected a value".into()),
        };
        self.fault_at(kind, index)
    }

    /// Returns the byte at which the reader stands.
    fn at(&self) -> usize {
        self.base + self.jiter.current_index()
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        self.fault_at(kind, self.at())
    }

    fn fault_at(&self, kind: FaultKind, offset: usize) -> Fault {
        self.fault_in(kind, offset, None)
    }

    /// Makes a fault with the place of the reader: the open arrays and objects, then the innermost child.
    fn fault_in(&self, kind: FaultKind, offset: usize, key: Option<&str>) -> Fault {
        let table = Table {
            text: self.text,
            nodes: Vec::new(),
            strings: 0,
        };
        let mut pointer = String::new();
        let chain = self.open.iter().map(|open| open.node).skip(1);
        let innermost = self.open.last().map_or(0, |open| open.node);
        let last = as_u32(self.nodes.len().saturating_sub(1));
        let in_child = key.is_none() && last > innermost && self.node(last).end == 0;
        for id in chain.chain(in_child.then_some(last)) {
            let node = self.node(id);
            if node.has_key() {
                push_key(&mut pointer, &unescape(table.slice(node.key_start, node.key_end)));
            } else {
                push_index(&mut pointer, self.siblings_before(id));
            }
        }
        if let Some(key) = key {
            push_key(&mut pointer, &unescape(key));
        }
        Fault::new(kind, self.text, offset, &pointer)
    }

    fn siblings_before(&self, id: u32) -> usize {
        let mut count = 0;
        let mut at = self.node(id).parent + 1;
        while at < id {
            count += 1;
            at = self.node(at).after.max(at + 1);
        }
        count
    }

    fn node(&self, id: u32) -> Node {
        self.nodes.get(id as usize).copied().unwrap_or(Node::NOTHING)
    }
}

/// Returns the span of a name that the tokenizer cut out of the text.
fn key_span(text: &str, key: &[u8]) -> KeySpan {
    let start = key.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    KeySpan {
        start: as_u32(start),
        end: as_u32(start + key.len()),
        spelling: Spelling::Plain,
    }
}

/// Converts an index or offset, which is at most the body's length; that was checked.
fn as_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
