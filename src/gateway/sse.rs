//! Server-sent events: a bounded splitter, and a writer that cannot be broken out of.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// `event:`; empty if there is none.
    pub(super) name: String,
    /// The lines of `data:`, joined.
    pub(super) data: String,
    /// `id:`.
    pub(super) id: Option<String>,
    /// `retry:`: the number of milliseconds after which a reader may come back.
    pub(super) retry: Option<u64>,
}

/// The reason why a stream cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseFault {
    /// An event is larger than allowed.
    #[error("an event of the stream is larger than {0} bytes")]
    TooLarge(usize),
    /// An event is no UTF-8.
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// Splits a stream of bytes into events. It never keeps more than one event's bytes and one chunk.
pub(super) struct Splitter {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    bytes: usize,
    most: usize,
    after_cr: bool,
    first_line: bool,
}

impl Splitter {
    pub(super) fn new(most: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            bytes: 0,
            most,
            after_cr: false,
            first_line: true,
        }
    }

    /// Returns the events that these bytes complete.
    ///
    /// # Errors
    ///
    /// When an event is too large or no UTF-8.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Event>, SseFault> {
        let mut events = Vec::new();
        for byte in chunk {
            let ends = match byte {
                b'\n' => !std::mem::take(&mut self.after_cr),
                b'\r' => {
                    self.after_cr = true;
                    true
                }
                _ => {
                    self.after_cr = false;
                    self.bytes += 1;
                    if self.bytes > self.most {
                        return Err(SseFault::TooLarge(self.most));
                    }
                    self.line.push(*byte);
                    false
                }
            };
            if ends {
                events.extend(self.end_line()?);
            }
        }
        Ok(events)
    }

    /// Returns the bytes of an event that has not arrived whole.
    pub(super) fn waiting(&self) -> usize {
        self.line.len() + self.event.data.len() + self.event.name.len() + self.event.id.as_ref().map_or(0, String::len)
    }

    fn end_line(&mut self) -> Result<Option<Event>, SseFault> {
        let line = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&line).map_err(|_| SseFault::NotUtf8)?;
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            self.bytes = 0;
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            "id" => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            // Comments and undefined fields.
            _ => self.bytes = self.bytes.saturating_sub(line.len()),
        }
        Ok(None)
    }
}

impl Event {
    /// Makes an event of this data.
    pub(super) fn of(data: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }

    /// Makes an event of this name and data.
    pub(super) fn named(name: &str, data: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::of(data)
        }
    }

    /// Writes the bytes on the wire. Line ends inside a field cannot begin another one.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = String::with_capacity(self.data.len() + 32);
        let mut field = |name: &str, value: &str| {
            out.push_str(name);
            out.push_str(": ");
            out.push_str(&value.replace(['\r', '\n'], ""));
            out.push('\n');
        };
        if !self.name.is_empty() {
            field("event", &self.name);
        }
        if let Some(id) = &self.id {
            field("id", id);
        }
        if let Some(retry) = self.retry {
            field("retry", &retry.to_string());
        }
        for line in self.data.split('\n') {
            field("data", line);
        }
        out.push('\n');
        out.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<Event> {
        Splitter::new(1_000).push(text.as_bytes()).unwrap()
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        let expected = vec![Event::named("x", "1\n2"), Event::of("3")];
        for end in ["\n", "\r\n", "\r"] {
            let text = format!(": hello{end}event: x{end}data: 1{end}data:2{end}{end}data: 3{end}{end}")
                .replace(": hello", ":");
            assert_eq!(split(&text), expected, "{end:?}");
        }
        assert_eq!(split("event: alone\n\n: comment\n\n"), []);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut splitter = Splitter::new(100);
        let endless =
            std::iter::repeat_n(&b"data: 0123456789\n"[..], 20).try_for_each(|chunk| splitter.push(chunk).map(drop));
        assert_eq!(endless, Err(SseFault::TooLarge(100)));
        let mut patient = Splitter::new(100);
        for _ in 0..1_000 {
            assert_eq!(patient.push(b": heartbeat\n\n"), Ok(Vec::new()));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(name in "[a-z_]{0,8}", data in "[^\r\0]{0,60}", cut in 0..40usize) {
            let event = Event { name, data, ..Event::default() };
            let bytes = event.to_bytes();
            let mut splitter = Splitter::new(1_000);
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let mut events = splitter.push(head).unwrap();
            events.extend(splitter.push(tail).unwrap());
            prop_assert_eq!(events, vec![event]);
        }
    }
}
