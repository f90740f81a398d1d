//! Records in files, one JSON object a line. The last member of each is its place in the chain of its organisation, so that a file is
//! verified as a database is:
//!
//! ```text
//! {"time":"…","decision_id":"…",…,"chain":{"number":17,"salt":"…","hash":"…"}}
//! ```
//!
//! What is hashed is the line without that member. Beside `FILE` stands `FILE.chain` with the end of each chain: where processes that
//! write to one file wait for each other, and where chains go on when another file takes the place of this one. A process that is
//! killed between a line and its note leaves it behind the file: who opens the file reads the lines since.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::chain::{Event, Head, Row, content_hash, hex, of_hex};
use super::facts::{Facts, Query, searched};
use super::file::{Identity, identity, named, readable};
use super::kept::each_line;
use super::output::Output;
use super::signing::Signer;
use super::verify::{Verified, Verifier};

/// The beginning of the last member of a line.
const MARK: &str = r#","chain":{"number":"#;
/// The end of a line: its hash and what stands around it.
const END: (&str, &str) = (r#","hash":""#, "\"}}");
/// Lines that are written at a time.
const BATCH: usize = 1_000;
/// Records that a search answers at most.
const MAX_FOUND: usize = 10_000;

/// Returns the file in which the ends of chains are noted.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".chain");
    PathBuf::from(name)
}

/// Writes a record as a line, with its place.
fn line_of(row: &Row) -> Option<String> {
    let body = row.line.as_deref()?.strip_suffix('}')?;
    let (salt, hash, (before, behind)) = (BASE64.encode(&row.salt), hex(&row.hash), END);
    Some(format!(
        "{body}{MARK}{},\"salt\":\"{salt}\"{before}{hash}{behind}",
        row.number
    ))
}

/// Reads the record of a line; `None` where it has no place, or one that is written otherwise than here.
fn row_of(line: &[u8]) -> Option<Row> {
    let line = std::str::from_utf8(line).ok()?;
    let (body, place) = line.rsplit_once(MARK)?;
    let (number, place) = place.split_once(r#","salt":""#)?;
    let (salt, hash) = place.strip_suffix(END.1)?.split_once(&format!("\"{}", END.0))?;
    let body = format!("{body}}}");
    let salt = BASE64.decode(salt).ok()?;
    let row = Row {
        number: number.parse().ok()?,
        facts: Facts::of(&body),
        content: content_hash(&salt, &body),
        hash: of_hex(hash),
        line: Some(body),
        salt,
    };
    (line_of(&row).as_deref() == Some(line)).then_some(row)
}

/// Reads the hash in the line that ends in front of this byte of a file, where that is one of a chain.
fn hash_before(mut file: &File, end: u64) -> std::io::Result<Option<String>> {
    let mut last = [0; 78];
    let Some(begin) = end.checked_sub(last.len() as u64) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut last)?;
    let last = std::str::from_utf8(&last).ok().and_then(|last| {
        let hash = last.trim_end_matches('\n').strip_suffix(END.1)?;
        hash.rsplit_once(END.0).map(|(_, hash)| hash.to_owned())
    });
    Ok(last)
}

/// The ends of the chains of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ends {
    /// Bytes of the file that they are the ends of.
    end: u64,
    /// The hash of the last line there; of an empty file, nothing.
    last: String,
    heads: BTreeMap<String, Head>,
}

impl Ends {
    /// Reads the ends of a file, from what is noted of it and the lines since.
    fn of(file: &File, noted: Option<Self>) -> std::io::Result<Self> {
        let mut ends = Self::default();
        match noted {
            Some(noted) if noted.are_of(file)? => {
                ends = noted;
                ends.read_on(file)?;
            }
            // Another file took the place of that one. Where it has lines of chains, some are missing, and verification says so.
            Some(mut noted) => {
                ends.read_on(file)?;
                for head in noted.heads.values_mut().filter(|_| ends.heads.is_empty()) {
                    (head.floor, head.floor_hash) = (head.number, head.hash);
                }
                ends.heads = noted.heads;
            }
            None => ends.read_on(file)?,
        }
        Ok(ends)
    }

    fn are_of(&self, file: &File) -> std::io::Result<bool> {
        let is_long_enough = self.end <= file.metadata()?.len();
        Ok(is_long_enough && (self.last.is_empty() || hash_before(file, self.end)?.as_ref() == Some(&self.last)))
    }

    /// Reads lines that others wrote.
    fn read_on(&mut self, mut file: &File) -> std::io::Result<()> {
        let length = file.metadata()?.len();
        if length == self.end {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.end))?;
        let mut reader = BufReader::new(file.take(length - self.end));
        each_line(&mut reader, &mut Vec::new(), |line| {
            if let Some(row) = row_of(line) {
                self.take(&row);
            }
        })?;
        self.end = length;
        Ok(())
    }

    fn take(&mut self, row: &Row) {
        let head = self.heads.entry(row.facts.organisation.clone()).or_default();
        match Event::of(row) {
            Some(Event::Checkpoint { .. }) => (head.signed, head.signed_at) = (row.number, row.facts.time),
            Some(Event::Expiry { number, hash }) if head.number == 0 => {
                (head.floor, head.floor_hash) = (number, of_hex(&hash));
            }
            Some(_) | None => {}
        }
        (head.number, head.hash) = (row.number, row.hash);
        self.last = hex(&row.hash);
    }

    /// Appends a line to the chain of its organisation; answers what is written for that.
    fn append(&mut self, line: &str, into: &mut Vec<Row>) -> String {
        let facts = Facts::of(line);
        let organisation = facts.organisation.clone();
        let head = self.heads.entry(organisation.clone()).or_default();
        if head.number == head.floor && head.number > 0 {
            // Its first record in this file.
            let (number, hash) = (head.floor, hex(&head.floor_hash));
            into.push(Event::Expiry { number, hash }.append(&organisation, head));
        }
        into.push(head.append(facts, line.to_owned()));
        organisation
    }

    /// Reads what is noted; `None` where that is nothing, or was not written to its end.
    fn noted(mut notes: &File) -> std::io::Result<Option<Self>> {
        let mut text = String::new();
        notes.seek(SeekFrom::Start(0))?;
        match notes.read_to_string(&mut text) {
            Err(error) if error.kind() != ErrorKind::InvalidData => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let whole = text.split_once('\n').filter(|(sum, ends)| *sum == sum_of(ends));
        Ok(whole.and_then(|(_, ends)| serde_json::from_str(ends).ok()))
    }

    fn note(&self, mut notes: &File) -> std::io::Result<()> {
        let ends = serde_json::to_string(self)?;
        let text = format!("{}\n{ends}", sum_of(&ends));
        notes.set_len(0)?;
        notes.write_all(text.as_bytes())
    }
}

fn sum_of(ends: &str) -> String {
    blake3::hash(ends.as_bytes()).to_hex().to_string()
}

/// A file by its name: after it was moved or deleted, lines go to a new one of the same name, and the chains go on there.
pub(super) struct ChainedFile {
    path: PathBuf,
    signer: Option<Signer>,
    waiting: Vec<u8>,
    open: Option<Open>,
}

/// The file as it was left by the last batch.
struct Open {
    file: File,
    identity: Option<Identity>,
    ends: Ends,
}

impl ChainedFile {
    /// Opens it for appending, or makes it.
    pub(super) fn open(path: &Path, signer: Option<Signer>) -> std::io::Result<Self> {
        let mut file = Self {
            path: path.to_owned(),
            signer,
            waiting: Vec::new(),
            open: None,
        };
        file.append("")?;
        Ok(file)
    }

    /// Appends lines to the chains of their organisations, all or none.
    fn append(&mut self, lines: &str) -> std::io::Result<()> {
        let notes = locked(&self.path)?;
        // What fails leaves a state that is read again.
        let open = self.open.take().filter(|open| open.is_current(&self.path));
        let mut open = match open {
            Some(open) => open,
            None => Open::new(&self.path, &notes)?,
        };
        open.ends.read_on(&open.file)?;
        if open.write(lines, self.signer.as_ref())? {
            open.ends.note(&notes)?;
        }
        self.open = Some(open);
        Ok(())
    }
}

/// Waits for other processes that write to this file. The notes are theirs as long as they are open.
fn locked(path: &Path) -> std::io::Result<File> {
    let notes = readable(&beside(path))?;
    match notes.lock() {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(notes),
        locked => locked.map(|()| notes),
    }
}

impl Open {
    fn new(path: &Path, notes: &File) -> std::io::Result<Self> {
        let file = readable(path)?;
        Ok(Self {
            identity: identity(&file),
            ends: Ends::of(&file, Ends::noted(notes)?)?,
            file,
        })
    }

    fn is_current(&self, path: &Path) -> bool {
        let length = self.file.metadata().map_or(0, |file| file.len());
        named(path) == self.identity && length >= self.ends.end
    }

    /// Writes lines; answers whether there were any.
    fn write(&mut self, lines: &str, signer: Option<&Signer>) -> std::io::Result<bool> {
        let mut rows = Vec::new();
        let lines = lines.lines().filter(|line| !line.is_empty());
        let grown: BTreeSet<String> = lines.map(|line| self.ends.append(line, &mut rows)).collect();
        for (organisation, signer) in grown.iter().filter_map(|organisation| Some((organisation, signer?))) {
            let head = self.ends.heads.get_mut(organisation);
            rows.extend(head.and_then(|head| head.sign(organisation, signer)));
        }
        let Some(last) = rows.last() else { return Ok(false) };
        let mut text = match self.ends_with_a_line()? {
            true => String::new(),
            // Who wrote it was stopped by force, or the machine lost its power.
            false => "\n".to_owned(),
        };
        for row in &rows {
            text.push_str(&line_of(row).ok_or_else(|| Error::other("a record is no JSON object"))?);
            text.push('\n');
        }
        let end = self.ends.end;
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // What a full disk took of it; where that stays, the next line begins behind it.
            let _ = self.file.set_len(end);
            return Err(error);
        }
        self.ends.last = hex(&last.hash);
        self.ends.end += text.len() as u64;
        Ok(true)
    }

    fn ends_with_a_line(&mut self) -> std::io::Result<bool> {
        let Some(at) = self.ends.end.checked_sub(1) else {
            return Ok(true);
        };
        let mut last = [0];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut last)?;
        Ok(last == *b"\n")
    }
}

impl Write for ChainedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Gives up what cannot be written: a caller that must not lose it hands it over again.
    fn flush(&mut self) -> std::io::Result<()> {
        let lines = std::mem::take(&mut self.waiting);
        match lines.is_empty() {
            true => Ok(()),
            false => self.append(&String::from_utf8(lines).map_err(Error::other)?),
        }
    }
}

impl Output for ChainedFile {
    fn reopen(&mut self) {
        self.open = None;
    }

    fn batch(&self) -> usize {
        BATCH
    }
}

/// Files of records, the oldest first.
#[derive(Clone, Debug)]
pub struct AuditFiles(pub Vec<PathBuf>);

impl AuditFiles {
    /// Returns their names.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|path| path.display().to_string()).collect();
        names.join(" and ")
    }

    /// Returns `true` if there is none of them.
    pub fn are_missing(&self) -> bool {
        self.0.iter().all(|path| !path.exists())
    }

    /// Hands over each line of each file; what an unfinished batch left at the end is none.
    fn each(&self, mut take: impl FnMut(&Path, &[u8])) -> std::io::Result<()> {
        for path in &self.0 {
            let mut reader = BufReader::new(opened(path)?);
            each_line(&mut reader, &mut Vec::new(), |line| take(path, line))?;
        }
        Ok(())
    }

    /// Returns the records that fit, the latest first, each as a line of JSON without its place in the chain.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn search(&self, query: &Query) -> std::io::Result<Vec<String>> {
        // Most lines need not be understood: ids stand in them as they are. Of 200,000 records (375 MB) that took 0.6 s, understanding each 12 s.
        let is_plain = |text: &&String| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        };
        let asked = [
            &query.decision_id,
            &query.session,
            &query.user,
            &query.tool,
            &query.rule,
        ];
        let needle = asked.into_iter().flatten().find(is_plain).map(|text| searched(text));
        let finder = needle.as_ref().map(|needle| memmem::Finder::new(needle.as_bytes()));
        let mut found = VecDeque::new();
        let limit = query.limit.min(MAX_FOUND);
        self.each(|_, line| {
            if finder.as_ref().is_some_and(|finder| finder.find(line).is_none()) {
                return;
            }
            let Some((facts, line)) = record_of(line).filter(|(facts, _)| query.fits(facts)) else {
                return;
            };
            found.push_back((facts.time, line));
            if found.len() > limit {
                found.pop_front();
            }
        })?;
        let mut found: Vec<(i64, String)> = found.into_iter().rev().collect();
        found.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        Ok(found.into_iter().map(|(_, line)| line).collect())
    }

    /// Hands over every record in the order in which they were written, of one organisation where one is named.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn export(&self, organisation: Option<&str>, mut each: impl FnMut(&str)) -> std::io::Result<()> {
        self.each(|_, line| {
            if let Some((facts, line)) = record_of(line)
                && organisation.is_none_or(|organisation| organisation == facts.organisation)
            {
                each(&line);
            }
        })
    }

    /// Computes every chain again, as far as it was written when this began. With `keys`, only their signatures count, and each chain
    /// needs one near its end.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn verify(&self, keys: &[Vec<u8>]) -> std::io::Result<Verified> {
        let Some(last) = self.0.last() else {
            return Ok(Verified::default());
        };
        let (ends, length) = ends_now(last)?;
        let mut begins = Ends::default();
        self.each(|_, line| {
            if let Some(row) = row_of(line) {
                begins.take(&row);
            }
        })?;
        // Where the end of a chain is noted, that counts; in these files it begins where its first record says.
        let mut heads = begins.heads;
        for (organisation, end) in ends.heads {
            // A chain may have no record in the last file.
            if end.number > end.floor || heads.contains_key(&organisation) {
                let head = heads.entry(organisation).or_default();
                (head.number, head.hash) = (end.number, end.hash);
            }
        }
        let mut verifier = Verifier::new(keys, heads);
        for path in &self.0 {
            let file = opened(path)?;
            let mut reader = BufReader::new(file.take(if path == last { length } else { u64::MAX }));
            let mut number = 0;
            each_line(&mut reader, &mut Vec::new(), |line| {
                number += 1;
                match (row_of(line), record_of(line)) {
                    (Some(row), _) => verifier.take(&row),
                    (None, Some(_)) => verifier.loose(path.display().to_string(), number),
                    (None, None) => {}
                }
            })?;
        }
        Ok(verifier.end())
    }
}

fn opened(path: &Path) -> std::io::Result<File> {
    File::open(path).map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Returns the ends of the chains of a file, and its length, while no one writes to it. Nothing need be noted.
fn ends_now(path: &Path) -> std::io::Result<(Ends, u64)> {
    let file = opened(path)?;
    let notes = File::open(beside(path)).ok();
    if let Some(notes) = &notes {
        // Who may only read cannot wait everywhere.
        let _ = notes.lock_shared();
    }
    let noted = notes.as_ref().map(Ends::noted).transpose()?.flatten();
    Ok((Ends::of(&file, noted)?, file.metadata()?.len()))
}

/// Returns the facts by which a line is searched, and the line without its place in a chain; `None` where it is no record.
fn record_of(line: &[u8]) -> Option<(Facts, String)> {
    if let Some(row) = row_of(line) {
        return Some((row.facts, row.line?));
    }
    let line = std::str::from_utf8(line).ok()?;
    let is_record = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok();
    is_record.then(|| (Facts::of(line), line.to_owned()))
}

#[cfg(test)]
mod tests;
