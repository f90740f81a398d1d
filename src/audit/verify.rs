//! The verification of chains: every record computed again, in order.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::chain::{Event, Hash, Head, Row, content_hash, hex, signed_text};
use super::facts::Facts;
use super::signing::is_signed;

/// Records at the end of a chain that no checkpoint covers, where keys are expected to sign.
const MAX_UNSIGNED: i64 = 5_000;

/// A place where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The organisation of the chain; of a line that is in none, the file.
    pub organisation: String,
    /// The number of the record, or of the line.
    pub number: i64,
    /// The error.
    pub what: &'static str,
}

/// The end of a chain, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The organisation of the chain.
    pub organisation: String,
    /// The number of its last record.
    pub number: i64,
    /// The hash of its last record, in hexadecimal digits.
    pub hash: String,
    /// Its signed checkpoints.
    pub checkpoints: u64,
    /// Records behind the last of them.
    pub unsigned: i64,
}

/// The result of a verification.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Records that are there, erased ones among them.
    pub records: u64,
    /// Records that were erased.
    pub erased: u64,
    /// Records of a file that were written before its chains began.
    pub unchained: u64,
    /// Each chain.
    pub chains: Vec<Checked>,
    /// The places where chains are broken.
    pub breaks: Vec<Break>,
}

/// Takes the records of each chain in their order.
pub(super) struct Verifier<'k> {
    /// Public keys whose signatures count; with none, every key does.
    keys: &'k [Vec<u8>],
    heads: BTreeMap<String, Head>,
    chains: BTreeMap<String, Chain>,
    verified: Verified,
}

/// A chain as far as it was read.
struct Chain {
    organisation: String,
    head: Option<Head>,
    number: i64,
    hash: Hash,
    blank: Vec<i64>,
    erased: Vec<[i64; 2]>,
    /// True if a record says that those in front of it were removed.
    expired: bool,
    signed: i64,
    checkpoints: u64,
}

impl<'k> Verifier<'k> {
    pub(super) fn new(keys: &'k [Vec<u8>], heads: BTreeMap<String, Head>) -> Self {
        Self {
            keys,
            heads,
            chains: BTreeMap::new(),
            verified: Verified::default(),
        }
    }

    /// Takes the next record.
    pub(super) fn take(&mut self, row: &Row) {
        let organisation = &row.facts.organisation;
        let heads = &mut self.heads;
        let chain = self.chains.entry(organisation.clone()).or_insert_with(|| {
            let head = heads.remove(organisation);
            let begin = head.as_ref().map(|head| (head.floor, head.floor_hash));
            let (number, hash) = begin.unwrap_or_default();
            Chain {
                organisation: organisation.clone(),
                head,
                number,
                hash,
                blank: Vec::new(),
                erased: Vec::new(),
                expired: false,
                signed: number,
                checkpoints: 0,
            }
        });
        self.verified.records += 1;
        let breaks = [
            chain.text_break(row),
            chain.link_break(row),
            chain.event_break(row, self.keys),
        ];
        let broken = breaks.into_iter().flatten().next();
        self.verified.breaks.extend(broken.map(|what| Break {
            organisation: organisation.clone(),
            number: row.number,
            what,
        }));
        (chain.number, chain.hash) = (row.number, row.hash);
    }

    /// Takes a line of a file that holds a record and no place in a chain.
    pub(super) fn loose(&mut self, file: String, line: i64) {
        if self.chains.is_empty() {
            self.verified.unchained += 1;
            return;
        }
        self.verified.breaks.push(Break {
            organisation: file,
            number: line,
            what: "it has no place in a chain",
        });
    }

    /// Returns the result, once every record was taken.
    pub(super) fn end(mut self) -> Verified {
        for chain in std::mem::take(&mut self.chains).into_values() {
            self.end_chain(chain);
        }
        for (organisation, head) in std::mem::take(&mut self.heads) {
            if head.number > 0 {
                self.verified.breaks.push(Break {
                    organisation,
                    number: head.number,
                    what: "every record of the chain is missing",
                });
            }
        }
        self.verified
    }

    fn end_chain(&mut self, chain: Chain) {
        self.verified.erased += chain.blank.len() as u64;
        let unsigned = chain.number - chain.signed;
        let end = match &chain.head {
            None => Some("the end of the chain was removed"),
            Some(head) if (head.number, head.hash) != (chain.number, chain.hash) => {
                Some("the end of the chain is not the last record")
            }
            Some(head) if head.floor > 0 && !chain.expired => {
                Some("the first records are missing, and no retention says so")
            }
            Some(_) if !self.keys.is_empty() && unsigned > MAX_UNSIGNED => {
                Some("too many records stand behind the last signed checkpoint")
            }
            Some(_) => None,
        };
        let mut ranges = chain.erased;
        ranges.sort_unstable();
        let mut ranges = ranges.into_iter().peekable();
        let mut covered_to = 0;
        let blank = chain.blank.iter().filter(|number| {
            while let Some([_, last]) = ranges.next_if(|[first, _]| first <= *number) {
                covered_to = covered_to.max(last);
            }
            **number > covered_to
        });
        let blank = blank.map(|number| (*number, "its text is missing, and no erasure says so"));
        let found: Vec<(i64, &'static str)> = blank.chain(end.map(|what| (chain.number, what))).collect();
        self.verified
            .breaks
            .extend(found.into_iter().map(|(number, what)| Break {
                organisation: chain.organisation.clone(),
                number,
                what,
            }));
        self.verified.chains.push(Checked {
            organisation: chain.organisation,
            number: chain.number,
            hash: hex(&chain.hash),
            checkpoints: chain.checkpoints,
            unsigned,
        });
    }
}

impl Chain {
    /// Returns the error if the record does not say what it did.
    fn text_break(&mut self, row: &Row) -> Option<&'static str> {
        match &row.line {
            Some(line) if content_hash(&row.salt, line) != row.content => Some("it was changed"),
            Some(line) if Facts::of(line) != row.facts => Some("what it is searched by is not what it says"),
            None if row.facts != row.facts.erased() || !row.salt.is_empty() => Some("it was erased in part"),
            None => {
                self.blank.push(row.number);
                None
            }
            Some(_) => None,
        }
    }

    /// Returns the error if it does not stand behind the record before it.
    fn link_break(&self, row: &Row) -> Option<&'static str> {
        if row.number != self.number + 1 {
            Some("a record is missing before it")
        } else if row.link(&self.hash) != row.hash {
            Some("it, or what stands before it, was changed")
        } else {
            None
        }
    }

    /// Returns the error if what it says of the chain is not so.
    fn event_break(&mut self, row: &Row, keys: &[Vec<u8>]) -> Option<&'static str> {
        match Event::of(row)? {
            Event::Erasure { erased } => {
                // What comes after an erasure was not erased by it.
                self.erased.extend(erased.iter().filter(|[_, last]| *last < row.number));
                None
            }
            Event::Expiry { number, hash } => {
                let floor = self.head.as_ref().map(|head| (head.floor, hex(&head.floor_hash)));
                self.expired |= floor == Some((number, hash));
                None
            }
            Event::Checkpoint {
                number,
                hash,
                key,
                signature,
            } => {
                let key = BASE64.decode(key).unwrap_or_default();
                let signature = BASE64.decode(signature).unwrap_or_default();
                let is_of_place = number == self.number && hash == hex(&self.hash);
                let text = signed_text(&self.organisation, number, &self.hash);
                if !is_of_place || !is_signed(&key, &text, &signature) {
                    return Some("its signature is not one of the records before it");
                }
                if !keys.is_empty() && !keys.contains(&key) {
                    return Some("it is signed with a key that is not among those expected");
                }
                self.signed = row.number;
                self.checkpoints += 1;
                None
            }
        }
    }
}
