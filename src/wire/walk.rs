//! The one walk over a request that turns every string, and every long number of the body, into a content.

use std::borrow::Cow;

use crate::model::{Content, ContentId, Data, Form, Place, Pointer, Remark, RemarkKind, nearest_double};

use super::aos::AosShape;
use super::file;
use super::json::{Kind, NodeId, Table, push_index, push_key};
use super::jsonrpc::RpcError;
use super::original::{Token, TokenForm};
use super::zone::{Anchors, Member, Shape, Zone};

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Every string and every long number, in document order.
    pub(super) contents: Vec<Content>,
    /// For each content the token it came from.
    pub(super) tokens: Vec<Token>,
    /// The data of the body that holds numbers, booleans or nulls.
    pub(super) data: Vec<Data>,
    /// The remarks on oddities.
    pub(super) remarks: Vec<Remark>,
}

/// The source of the label of a content.
#[derive(Clone, Copy)]
enum Label {
    None,
    /// The name of this member.
    KeyOf(NodeId),
    /// The text of this string.
    TextOf(NodeId),
}

/// An array or object that the walk is in.
struct Frame {
    after: NodeId,
    kind: Kind,
    zone: Zone,
    node: NodeId,
    label: Label,
    /// Length of the pointer to it.
    pointer: usize,
    /// Children seen.
    seen: usize,
    /// True if this is data that was noted already.
    noted: bool,
}

/// Shorter integers identify nothing.
const LONG_NUMBER: usize = 9;

/// A double of more digits is an estimate, not an identifying number.
const MAX_INTEGER: usize = 22;

/// Bytes of pointers and labels that a request may need, at least.
const NAMING_BYTES: usize = 16 << 20;
/// The same for each byte of the request.
const NAMING_BYTES_PER_BYTE: usize = 16;

/// Walks a request: every string below `root`, with the zone that its path gives it.
///
/// # Errors
///
/// `-32600` when long names around many values would make the request's pointers much larger than the request.
pub(super) fn walk(table: &Table<'_>, root: NodeId, zone: Zone, anchors: Anchors) -> Result<Walked, RpcError> {
    let mut walk = Walk {
        table,
        base: table.span(root).start,
        pointer: String::with_capacity(96),
        naming_left: table
            .span(root)
            .len()
            .saturating_mul(NAMING_BYTES_PER_BYTE)
            .max(NAMING_BYTES),
        walked: Walked::default(),
    };
    walk.walked.contents.reserve(table.strings());
    walk.walked.tokens.reserve(table.strings());
    let mut anchors = anchors.into_sorted().into_iter().peekable();
    let mut frames = vec![Frame {
        after: table.after(root),
        kind: table.kind(root),
        zone,
        node: root,
        label: Label::None,
        pointer: 0,
        seen: 0,
        noted: false,
    }];
    for node in table.below(root) {
        while frames.last().is_some_and(|frame| frame.after <= node) {
            frames.pop();
        }
        let anchor = anchors.next_if(|(at, _)| *at == node).map(|(_, zone)| zone);
        let Some(frame) = frames.last_mut() else { break };
        walk.pointer.truncate(frame.pointer);
        let (zone, label) = walk.enter(frame, node, anchor)?;
        match table.kind(node) {
            Kind::String => walk.string(node, zone, label)?,
            kind @ (Kind::Array | Kind::Object) => frames.push(Frame {
                after: table.after(node),
                kind,
                zone,
                node,
                label,
                pointer: walk.pointer.len(),
                seen: 0,
                noted: false,
            }),
            Kind::Null | Kind::Bool | Kind::Number => {
                if zone.place == Place::Body && zone.shape != Shape::Nothing {
                    walk.note(&mut frames, node, zone)?;
                    walk.number(node, zone, label)?;
                }
            }
        }
    }
    Ok(walk.walked)
}

struct Walk<'t, 'j> {
    table: &'t Table<'j>,
    /// The offset of the request in the table's text.
    base: usize,
    /// The pointer to the current node; one buffer for all.
    pointer: String,
    /// Bytes of pointers and labels that are left.
    naming_left: usize,
    walked: Walked,
}

impl<'j> Walk<'_, 'j> {
    /// Extends the pointer to a child of a frame and finds its zone and label. The name of a member that no protocol
    /// defines is a content of its own, before its value.
    fn enter(&mut self, frame: &mut Frame, node: NodeId, anchor: Option<Zone>) -> Result<(Zone, Label), RpcError> {
        if frame.kind == Kind::Array {
            push_index(&mut self.pointer, frame.seen);
            frame.seen += 1;
            return Ok((anchor.unwrap_or(frame.zone), frame.label));
        }
        let key = self.table.key(node).unwrap_or_default();
        push_key(&mut self.pointer, &key);
        let defined = anchor.or_else(|| {
            frame.zone.member(Member {
                table: self.table,
                object: frame.node,
                key: &key,
                value: node,
            })
        });
        match defined {
            Some(zone) => Ok((zone, self.label_of_defined(frame.node, zone))),
            None => {
                let (zone, label) = match self.recased(frame, node, &key) {
                    Some(zone) => (zone, self.label_of_defined(frame.node, zone)),
                    None => (
                        frame.zone.undefined_member(),
                        self.label_of_undefined(frame, node, &key),
                    ),
                };
                self.key(node, key, zone)?;
                Ok((zone, label))
            }
        }
    }

    /// Returns the zone of a member whose name differs from a defined one in letter case only: some parsers take it for that one.
    fn recased(&mut self, frame: &Frame, node: NodeId, key: &str) -> Option<Zone> {
        let mut letters = key.chars();
        let first = letters.next().filter(char::is_ascii_uppercase)?;
        let spellings = [
            format!("{}{}", first.to_ascii_lowercase(), letters.as_str()),
            key.to_ascii_lowercase(),
        ];
        let zone = spellings.iter().find_map(|key| {
            frame.zone.member(Member {
                table: self.table,
                object: frame.node,
                key,
                value: node,
            })
        })?;
        const MAX_REMARKS: usize = 32;
        if self.walked.remarks.len() >= MAX_REMARKS {
            return Some(zone);
        }
        self.walked.remarks.push(Remark {
            pointer: Pointer::new(self.pointer.as_str()),
            what: "a name differs from one of the protocol's in letter case only".into(),
            kind: RemarkKind::Oddity,
        });
        Some(zone)
    }

    fn label_of_defined(&self, object: NodeId, zone: Zone) -> Label {
        if zone.shape != Shape::ArgumentValue {
            return Label::None;
        }
        self.table.member(object, "name").map_or(Label::None, Label::TextOf)
    }

    /// Returns the label of undefined data, the nearest name; a value wrapped as `{"value": …}` keeps the name of its argument, and so does one that
    /// stands under another name than `value`.
    fn label_of_undefined(&self, frame: &Frame, node: NodeId, key: &str) -> Label {
        match frame.zone.shape {
            Shape::ArgumentValue if key == "value" => frame.label,
            Shape::Aos(AosShape::Input) => {
                let name = self.table.member(frame.node, "name");
                name.map_or(Label::KeyOf(node), Label::TextOf)
            }
            _ => Label::KeyOf(node),
        }
    }

    fn key(&mut self, node: NodeId, key: Cow<'j, str>, zone: Zone) -> Result<(), RpcError> {
        self.push(node, zone, Label::None, Form::Key, key.into_owned(), TokenForm::Fixed)
    }

    fn string(&mut self, node: NodeId, zone: Zone, label: Label) -> Result<(), RpcError> {
        if zone.shape == Shape::Nothing {
            return Ok(());
        }
        let text = self.table.text(node).unwrap_or_default();
        if zone.shape == Shape::FileBytes {
            return self.file(node, zone, label, text);
        }
        let form = match zone.place {
            Place::Body => TokenForm::Text,
            Place::Surroundings => TokenForm::Fixed,
        };
        self.push(node, zone, label, Form::Text, text.into_owned(), form)
    }

    /// Notes the data that a number, a boolean or a null is part of: the outermost object or array around it whose fields no
    /// protocol defines, or the value alone.
    fn note(&mut self, frames: &mut [Frame], node: NodeId, zone: Zone) -> Result<(), RpcError> {
        let is_data = |frame: &&mut Frame| {
            frame.zone.place == Place::Body && matches!(frame.zone.shape, Shape::Free | Shape::ArgumentValue)
        };
        let outermost = frames.iter_mut().rev().take_while(is_data).last();
        let (pointer, node, origin) = match outermost {
            Some(frame) if frame.noted => return Ok(()),
            Some(frame) => {
                frame.noted = true;
                let pointer = self.pointer.get(..frame.pointer).unwrap_or_default();
                (pointer, frame.node, frame.zone.origin)
            }
            None => (self.pointer.as_str(), node, zone.origin),
        };
        let pointer = Pointer::new(pointer);
        self.spend(pointer.as_str().len())?;
        self.walked.data.push(Data {
            pointer,
            origin,
            json: compact(self.table.raw(node)),
        });
        Ok(())
    }

    /// Adds a long integer as a content of its own: a number that identifies something in a string does so without quotes too, and also when it is
    /// written as a fraction or with an exponent that make it an integer.
    fn number(&mut self, node: NodeId, zone: Zone, label: Label) -> Result<(), RpcError> {
        let raw = self.table.raw(node);
        if is_long_integer(raw) {
            return self.push(node, zone, label, Form::Number, raw.to_owned(), TokenForm::Number);
        }
        let fraction = raw.contains(['.', 'e', 'E']).then(|| nearest_double(raw)).flatten();
        match fraction.filter(|nearest| nearest.len() <= MAX_INTEGER && is_long_integer(nearest)) {
            Some(nearest) => self.push(node, zone, label, Form::Number, nearest, TokenForm::Double),
            None => Ok(()),
        }
    }

    /// Takes bytes from those left for pointers and labels.
    fn spend(&mut self, naming: usize) -> Result<(), RpcError> {
        self.naming_left = self.naming_left.checked_sub(naming).ok_or_else(|| {
            RpcError::invalid_request("invalid request: names are too long for the number of values that they hold")
        })?;
        Ok(())
    }

    fn file(&mut self, node: NodeId, zone: Zone, label: Label, encoded: Cow<'j, str>) -> Result<(), RpcError> {
        let media_type = file::declared_type(self.table, node);
        let reading = file::read(&encoded, media_type.as_deref());
        if reading == file::Reading::Broken {
            self.walked.remarks.push(Remark {
                pointer: Pointer::new(self.pointer.as_str()),
                what: "a file is declared as text but does not hold text in base64".into(),
                kind: RemarkKind::Oddity,
            });
        }
        match reading {
            file::Reading::Text { text, spelling } => {
                let form = match zone.place {
                    Place::Body => TokenForm::File(spelling),
                    Place::Surroundings => TokenForm::Fixed,
                };
                self.push(node, zone, label, Form::TextFile { media_type }, text, form)
            }
            file::Reading::Opaque | file::Reading::Broken => {
                let form = Form::OpaqueFile { media_type };
                self.push(node, zone, label, form, encoded.into_owned(), TokenForm::Fixed)
            }
        }
    }

    fn push(
        &mut self,
        node: NodeId,
        zone: Zone,
        label: Label,
        form: Form,
        text: String,
        token: TokenForm,
    ) -> Result<(), RpcError> {
        let label = match label {
            Label::None => None,
            Label::KeyOf(member) => self.table.key(member),
            Label::TextOf(name) => self.table.text(name),
        };
        self.spend(self.pointer.len() + label.as_ref().map_or(0, |label| label.len()))?;
        let span = self.table.span(node);
        self.walked.tokens.push(Token {
            start: span.start.saturating_sub(self.base),
            end: span.end.saturating_sub(self.base),
            form: token,
        });
        self.walked.contents.push(Content {
            id: ContentId::from_index(self.walked.contents.len()),
            origin: zone.origin,
            pointer: Pointer::new(self.pointer.as_str()),
            label: label.map(Cow::into_owned),
            place: zone.place,
            form,
            text,
        });
        Ok(())
    }
}

fn is_long_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() >= LONG_NUMBER && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Writes JSON without the white space between its tokens.
fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        compact.push(c);
    }
    compact
}
