//! Queries of addresses: read once, judged with the rest, and written anew from what was read.

use crate::wire::is_identifier;

/// The pairs of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query. `None` if a name occurs twice: of two values, one reader takes the first, another the last.
    pub(super) fn read(text: Option<&str>) -> Option<Self> {
        let pairs = url::form_urlencoded::parse(text.unwrap_or_default().as_bytes());
        let mut read: Vec<(String, String)> = Vec::new();
        for (name, value) in pairs.into_owned() {
            if read.len() >= MAX || read.iter().any(|(known, _)| *known == name) {
                return None;
            }
            read.push((name, value));
        }
        Some(Self(read))
    }

    /// Returns the pairs, in order.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the value of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.pairs().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns whether a flag is set, if it is named.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        Some(value.eq_ignore_ascii_case("true") || value == "1")
    }

    /// Returns the pairs that are identifiers: others may hold words.
    pub(super) fn only_identifiers(&self) -> Self {
        let is_plain = |(name, value): &&(String, String)| is_identifier(name) && is_identifier(value);
        Self(self.0.iter().filter(is_plain).cloned().collect())
    }

    /// Returns the text that goes on; `None` if there is nothing in it.
    pub(super) fn write(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let mut written = url::form_urlencoded::Serializer::new(String::new());
        written.extend_pairs(&self.0);
        Some(written.finish())
    }
}

/// More pairs than this are refused.
const MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let read = Query::read(Some("stream=True&since=3&note=a%20b+c")).unwrap();
        assert_eq!(read.get("note"), Some("a b c"));
        assert_eq!(read.flag("stream"), Some(true));
        assert_eq!(read.write().unwrap(), "stream=True&since=3&note=a+b+c");
        assert_eq!(Query::read(None).unwrap().write(), None);
        assert_eq!(Query::read(Some("id=a&%69d=b")), None);
    }
}
