//! The way back: the bytes of its source that each byte of a derived text came from.

use std::ops::Range;

/// The correspondence between the bytes of a segment and those of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Byte for byte.
    Same,
    /// Three bytes came from four characters.
    Base64,
    /// One byte came from two characters.
    Hex,
    /// The whole came from the whole.
    Whole,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Its place in the derived text.
    at: usize,
    /// Its place in the source.
    from: usize,
    /// The bytes of the source that it covers.
    len: usize,
    scale: Scale,
}

impl Segment {
    /// The source bytes of `range`, which lies in this segment and is relative to it.
    fn source(&self, range: Range<usize>) -> Range<usize> {
        let (start, end) = match self.scale {
            Scale::Same => (range.start, range.end),
            Scale::Base64 => (range.start / 3 * 4, range.end.div_ceil(3) * 4),
            Scale::Hex => (range.start * 2, range.end * 2),
            Scale::Whole => (0, self.len),
        };
        self.from + start.min(self.len)..self.from + end.min(self.len)
    }
}

/// The map of one derived text.
#[derive(Clone, Debug)]
pub(super) enum SpanMap {
    /// Every byte stands where it stood.
    Identity,
    /// In pieces, in the order of the derived text.
    Pieces(Pieces),
    /// Every byte stands where it stood, within this part of the source.
    Part(Range<usize>),
}

/// Segments of a derived text.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    segments: Vec<Segment>,
    len: usize,
}

impl SpanMap {
    /// The smallest span of the source that covers what `span` was made of.
    pub(super) fn source_span(&self, span: Range<usize>) -> Range<usize> {
        match self {
            SpanMap::Identity => span,
            SpanMap::Pieces(pieces) => pieces.source_span(span),
            SpanMap::Part(part) => (part.start + span.start).min(part.end)..(part.start + span.end).min(part.end),
        }
    }
}

impl Pieces {
    fn source_span(&self, span: Range<usize>) -> Range<usize> {
        let start = span.start.min(self.len);
        let end = span.end.clamp(start, self.len);
        let first = self
            .segments
            .partition_point(|segment| segment.at <= start)
            .saturating_sub(1);
        if start == end {
            let place = self.segments.get(first).map_or(0, |segment| {
                let offset = start - segment.at.min(start);
                segment.source(offset..offset).start
            });
            return place..place;
        }
        let mut covered: Option<Range<usize>> = None;
        let mut rest = self.segments.iter().skip(first).peekable();
        while let Some(segment) = rest.next() {
            if segment.at >= end {
                break;
            }
            let until = rest.peek().map_or(self.len, |next| next.at);
            let part = segment.source(start.max(segment.at) - segment.at..end.min(until) - segment.at);
            covered = Some(covered.map_or(part.clone(), |so_far| {
                so_far.start.min(part.start)..so_far.end.max(part.end)
            }));
        }
        covered.unwrap_or(0..0)
    }
}

/// A derived text with the way back.
#[derive(Debug)]
pub(super) struct Derived {
    pub(super) text: String,
    pub(super) map: SpanMap,
    /// Bytes of the source that were left out because there was no room.
    pub(super) cut: usize,
}

/// Writes a derived text piece by piece, within a limit.
#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    pieces: Pieces,
    room: usize,
    consumed: usize,
    full: bool,
}

impl Writer {
    /// A writer of at most `room` bytes.
    pub(super) fn new(room: usize) -> Self {
        Self {
            text: String::new(),
            pieces: Pieces::default(),
            room,
            consumed: 0,
            full: false,
        }
    }

    /// Returns `true` if the limit was reached; what is put afterwards is dropped.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns `true` if nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text written so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Writes a piece that stands byte for byte at `from` in the source.
    pub(super) fn copy(&mut self, from: usize, piece: &str) {
        let fits = piece.floor_char_boundary(self.room.saturating_sub(self.text.len()));
        if let Some(part) = piece.get(..fits) {
            self.push(from..from + fits, Scale::Same, part);
        }
        self.full |= fits < piece.len();
    }

    /// Writes a piece that was made of `from`.
    pub(super) fn put(&mut self, from: Range<usize>, piece: &str) {
        let scale = if piece.len() == from.len() {
            Scale::Same
        } else {
            Scale::Whole
        };
        self.put_scaled(from, scale, piece);
    }

    /// Writes a piece that was made of `from` at this scale.
    pub(super) fn put_scaled(&mut self, from: Range<usize>, scale: Scale, piece: &str) {
        if self.full || self.text.len() + piece.len() > self.room {
            self.full = true;
        } else {
            self.push(from, scale, piece);
        }
    }

    /// Says that the source was looked at up to here, although nothing was written for it.
    pub(super) fn skip_to(&mut self, place: usize) {
        if !self.full {
            self.consumed = self.consumed.max(place);
        }
    }

    fn push(&mut self, from: Range<usize>, scale: Scale, piece: &str) {
        if self.full || piece.is_empty() {
            return;
        }
        let at = self.text.len();
        let extends = scale == Scale::Same
            && self.pieces.segments.last().is_some_and(|last| {
                last.scale == Scale::Same && last.at + last.len == at && last.from + last.len == from.start
            });
        match self.pieces.segments.last_mut() {
            Some(last) if extends => last.len += from.len(),
            _ => self.pieces.segments.push(Segment {
                at,
                from: from.start,
                len: from.len(),
                scale,
            }),
        }
        self.text.push_str(piece);
        self.consumed = self.consumed.max(from.end);
    }

    /// The text with its map; what of a source of `source_len` bytes was not reached for lack of room counts as cut.
    pub(super) fn finish(mut self, source_len: usize) -> Derived {
        self.pieces.len = self.text.len();
        let cut = if self.full {
            source_len.saturating_sub(self.consumed).max(1)
        } else {
            0
        };
        Derived {
            text: self.text,
            map: SpanMap::Pieces(self.pieces),
            cut,
        }
    }
}

#[cfg(test)]
mod tests;
