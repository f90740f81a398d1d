//! The chain of hashes over the records of an organisation: how a record is numbered and hashed, and what the chain says of itself.
//!
//! ```text
//! content = BLAKE3(salt, line)      hash = BLAKE3(hash before, organisation, number, time, decision id, content)
//! ```
//!
//! An erasure takes the line, its salt and what it was searched by, and leaves its content's hash: the chain still holds, and without
//! the salt nothing can be guessed from the hash. Three kinds of records say something of the chain, and are links of it themselves: a
//! signed checkpoint, an erasure with the numbers of what it took, and the end of what retention removed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::signing::Signer;

/// BLAKE3.
pub(super) type Hash = [u8; 32];

/// Records after which a checkpoint is signed.
const SIGN_AFTER: i64 = 1_000;
/// The microseconds after which a checkpoint is signed, where there is something new.
const SIGN_EVERY: i64 = 60_000_000;

/// The end of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The number of the last record; 0 before the first.
    pub(super) number: i64,
    #[serde(with = "digits")]
    pub(super) hash: Hash,
    /// The last record that retention removed, or that stands in the file before this one, and its hash: the chain begins behind it.
    pub(super) floor: i64,
    #[serde(with = "digits")]
    pub(super) floor_hash: Hash,
    /// The last record that is a checkpoint, and when it was signed, in microseconds since 1970.
    pub(super) signed: i64,
    pub(super) signed_at: i64,
}

/// A record as it stands in a database.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) number: i64,
    pub(super) facts: Facts,
    /// `None`: it was erased.
    pub(super) line: Option<String>,
    pub(super) salt: Vec<u8>,
    pub(super) content: Hash,
    pub(super) hash: Hash,
}

/// An event of a chain, as the chain records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method")]
pub(super) enum Event {
    /// The record before has this number and this hash, says who holds the key.
    #[serde(rename = "audit/checkpoint")]
    Checkpoint {
        number: i64,
        hash: String,
        key: String,
        signature: String,
    },
    /// The texts of records were erased: first and last number of each run.
    #[serde(rename = "audit/erase")]
    Erasure { erased: Vec<[i64; 2]> },
    /// The records up to this one, which had this hash, are here no more: they were removed because of their age, or stand in the file
    /// before this one.
    #[serde(rename = "audit/expire")]
    Expiry { number: i64, hash: String },
}

#[derive(Serialize, Deserialize)]
struct EventLine {
    time: String,
    decision_id: String,
    outcome: String,
    organisation: String,
    #[serde(flatten)]
    event: Event,
}

impl Event {
    /// Reads what a record says of the chain; `None` where it is a record of a step.
    pub(super) fn of(row: &Row) -> Option<Self> {
        let line = row.line.as_ref().filter(|_| row.facts.caller.is_empty())?;
        serde_json::from_str::<EventLine>(line).ok().map(|line| line.event)
    }

    /// Appends it to a chain.
    pub(super) fn append(self, organisation: &str, head: &mut Head) -> Row {
        let line = EventLine {
            time: jiff::Timestamp::now().to_string(),
            decision_id: uuid::Uuid::now_v7().to_string(),
            outcome: "chain".to_owned(),
            organisation: organisation.to_owned(),
            event: self,
        };
        let line = serde_json::to_string(&line).unwrap_or_default();
        head.append(Facts::of(&line), line)
    }
}

impl Head {
    /// Appends a record.
    pub(super) fn append(&mut self, facts: Facts, line: String) -> Row {
        let salt = uuid::Uuid::new_v4().as_bytes().to_vec();
        let mut row = Row {
            number: self.number + 1,
            content: content_hash(&salt, &line),
            facts,
            line: Some(line),
            salt,
            hash: Hash::default(),
        };
        row.hash = row.link(&self.hash);
        (self.number, self.hash) = (row.number, row.hash);
        row
    }

    /// Appends a signed checkpoint, where one is due.
    pub(super) fn sign(&mut self, organisation: &str, signer: &Signer) -> Option<Row> {
        let now = jiff::Timestamp::now().as_microsecond();
        let new = self.number - self.signed;
        let due = new >= SIGN_AFTER || (new > 0 && now - self.signed_at >= SIGN_EVERY);
        if !due {
            return None;
        }
        let (number, hash) = (self.number, self.hash);
        let event = Event::Checkpoint {
            number,
            hash: hex(&hash),
            key: BASE64.encode(signer.public_key()),
            signature: BASE64.encode(signer.sign(&signed_text(organisation, number, &hash))),
        };
        let row = event.append(organisation, self);
        (self.signed, self.signed_at) = (self.number, now);
        Some(row)
    }
}

impl Row {
    /// Its hash behind a record with the hash `before`.
    pub(super) fn link(&self, before: &Hash) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(before);
        for text in [&self.facts.organisation, &self.facts.decision_id] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&self.number.to_le_bytes());
        hasher.update(&self.facts.time.to_le_bytes());
        hasher.update(&self.content);
        *hasher.finalize().as_bytes()
    }
}

/// Returns the hash of a line.
pub(super) fn content_hash(salt: &[u8], line: &str) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(salt.len() as u64).to_le_bytes());
    hasher.update(salt);
    hasher.update(line.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Returns the text that a checkpoint signs.
pub(super) fn signed_text(organisation: &str, number: i64, hash: &Hash) -> Vec<u8> {
    format!("aos-guardian audit checkpoint\n{number}\n{}\n{organisation}", hex(hash)).into_bytes()
}

pub(super) fn hex(hash: &Hash) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

/// Returns the hash of so many hexadecimal digits; of other texts, one that fits nothing.
pub(super) fn of_hex(text: &str) -> Hash {
    blake3::Hash::from_hex(text).map(Into::into).unwrap_or_default()
}

/// Hashes as hexadecimal digits.
mod digits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &super::Hash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::hex(hash))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<super::Hash, D::Error> {
        Ok(super::of_hex(&String::deserialize(deserializer)?))
    }
}

/// Returns a hash that a database holds; one of another length fits nothing.
pub(super) fn as_hash(bytes: &[u8]) -> Hash {
    bytes.try_into().unwrap_or_default()
}
