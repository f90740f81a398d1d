//! Streams: events come in, are held, judged, and released; or the stream ends with the reason.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use super::concatenated;
use super::denial::{Denial, Stage};
use super::follow::Follow;
use super::json::Json;
use super::judged_units::{self, Digest, Novelty, beginning};
use super::protocol_words::{LONG_ID, has_long_id};
use super::route::Route;
use super::sse::Event;
use super::transport::is_count;
use super::upstream::Room;
use super::verdicts::{Depth, Question};
use crate::work::unfolded_as_tree;

/// The form of one protocol's streams.
pub(super) trait Dialect: Send {
    /// The names that the protocol gives to events.
    const NAMES: &'static [&'static str];

    /// Reads the content of an event.
    ///
    /// # Errors
    ///
    /// When it cannot be read: such an event never goes on.
    fn read(&mut self, event: &Event) -> Result<Json, String>;

    /// Returns the event with this content in place of its own.
    fn write(&self, event: &Event, value: &Json) -> Event;

    /// Returns `true` if something is whole with this event: held words are judged now.
    fn completes(&mut self, value: &Json) -> bool;

    /// Returns the running texts that this event continues: the name of each, and the piece.
    fn texts<'v>(&self, value: &'v mut Json) -> Vec<(String, &'v mut String)>;

    /// Returns the scope of the events, for units that were judged before; `None` while it is not known.
    fn scope(&self) -> Option<String>;

    /// Returns the task to which they belong, if other nodes may have stopped it.
    fn task(&self) -> Option<&str> {
        None
    }

    /// Returns the step that carries these.
    fn question(&mut self, values: Vec<Json>) -> Question;

    /// Returns the content of such a step after it was modified.
    fn carried(&mut self, params: Json) -> Option<Vec<Json>>;

    /// Returns the end of a stream that goes no further; a caller that asks again for what it showed gets the same answer.
    fn end_denied(&mut self, denial: &Denial) -> Vec<Event>;

    /// Returns the end of a stream that cannot be followed.
    fn end_broken(&mut self, why: &str) -> Vec<Event>;
}

/// Running texts whose ends are remembered.
const MAX_TEXTS: usize = 64;
/// Events that are held at most, however small.
const MAX_HELD: usize = 4_096;

/// The held part of a stream.
pub(super) struct Hold<D> {
    route: Arc<Route>,
    dialect: D,
    held: Vec<Held>,
    /// Bytes that the held events take, and bytes that they have on the wire.
    held_bytes: usize,
    held_size: usize,
    /// The chain of what was released so far; `None` while its task is not known.
    chain: Option<Digest>,
    /// True if something was released before its task was known.
    is_anonymous: bool,
    /// Identifiers that rules have looked at in this stream.
    seen: HashSet<Digest>,
    room: Room,
    /// The task about which other nodes were asked.
    asked: Option<String>,
    /// The last bytes of each running text that was released.
    ends: BTreeMap<String, String>,
}

/// A value that waits to be judged.
struct Held {
    /// The event that carries it; `None` for the lines beside the data of an event.
    event: Option<Event>,
    value: Json,
}

/// Events that end a stream.
type Last = Vec<Event>;

/// Identifiers of one stream that are remembered.
const MAX_SEEN: usize = 1_024;

impl<D: Dialect> Hold<D> {
    pub(super) fn new(route: &Arc<Route>, dialect: D) -> Self {
        Self {
            route: Arc::clone(route),
            dialect,
            held: Vec::new(),
            held_bytes: 0,
            held_size: 0,
            chain: None,
            is_anonymous: false,
            seen: HashSet::new(),
            room: route.room(),
            asked: None,
            ends: BTreeMap::new(),
        }
    }

    /// Begins the chain of a stream, with the first event of which the task is known. A stream that released something before has none.
    fn begin_chain(&mut self, scope: Option<&str>) {
        if self.chain.is_none() && !self.is_anonymous {
            self.chain = scope.map(beginning);
        }
    }

    /// Returns the reason why another node stopped the task of this stream, if one did; asked once. One that begins with this stream was not.
    async fn stopped_elsewhere(&mut self) -> Option<Denial> {
        let task = self.dialect.task()?;
        if self.asked.as_deref() == Some(task) {
            return None;
        }
        let _ = self.route.judged.learn(&[task]).await;
        self.asked = Some(task.to_owned());
        self.route.judged.denied(task)
    }

    /// Goes on with the chain of what was released.
    fn pass(&mut self, scope: Option<&str>, value: &Json, became: &Json) {
        match (self.chain, scope) {
            (Some(chain), Some(scope)) => {
                self.chain = Some(self.route.judged.remember(scope, chain, value, became));
            }
            (_, _) => self.is_anonymous = true,
        }
    }

    /// Returns the lines beside the data of an event, unless each is a number, a name of the protocol, or was there before.
    fn lines_of(&self, event: &Event) -> Option<Json> {
        let mut lines = Json::Object(Vec::new());
        if !event.name.is_empty() && !D::NAMES.contains(&event.name.as_str()) {
            lines.set("type", event.name.as_str());
        }
        if let Some(id) = event.id.as_deref().filter(|id| !is_count(id)) {
            lines.set("id", id);
        }
        let is_new = judged_units::identifiers(&lines)
            .iter()
            .any(|id| !self.seen.contains(id));
        is_new.then_some(lines)
    }

    /// Has rules look at identifiers that were not in this stream before.
    async fn admit_identifiers(&mut self, value: &Json, lines: Option<Json>) -> Result<(), Last> {
        let named: Vec<Digest> = [Some(value), lines.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(judged_units::identifiers)
            .collect();
        if named.iter().all(|id| self.seen.contains(id)) {
            return Ok(());
        }
        let values = [Some(value.clone()), lines].into_iter().flatten();
        let question = self
            .dialect
            .question(values.filter(|value| *value != Json::Null).collect());
        match self.route.verdicts.ask(&question, Depth::Rules).await {
            Ok(None) => {
                self.see(named);
                Ok(())
            }
            Ok(Some(_)) => Err(self.denied(&Denial::unmodifiable(Stage::Response))),
            Err(denial) => Err(self.denied(&denial)),
        }
    }

    fn see(&mut self, identifiers: Vec<Digest>) {
        if self.seen.len() + identifiers.len() > MAX_SEEN {
            self.seen.clear();
        }
        self.seen.extend(identifiers.into_iter().take(MAX_SEEN));
    }

    fn denied(&mut self, denial: &Denial) -> Last {
        self.held.clear();
        self.dialect.end_denied(denial)
    }

    /// Joins the values as they are judged: in the place of the first piece of each running text stands the whole of it, after the end of what was
    /// released of it before. Also returns what was put before each.
    fn joined(&self, values: &[Json]) -> (Vec<Json>, BTreeMap<String, String>) {
        let mut values = values.to_vec();
        let mut whole = self.pieces(&values);
        let end = |text_id: &String| self.end_of(text_id);
        let prefixes = whole.keys().map(|text_id| (text_id.clone(), end(text_id))).collect();
        for value in &mut values {
            for (text_id, text) in self.dialect.texts(value) {
                if let Some(pieces) = whole.remove(&text_id) {
                    *text = end(&text_id) + &pieces.concat();
                }
            }
        }
        (values, prefixes)
    }

    fn pieces(&self, values: &[Json]) -> BTreeMap<String, Vec<String>> {
        let mut pieces: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for value in &mut values.to_vec() {
            for (text_id, text) in self.dialect.texts(value) {
                pieces.entry(text_id).or_default().push(text.clone());
            }
        }
        pieces
    }

    /// Takes joined values apart again, after their verdict. `None` if that cannot be done.
    fn unjoined(&mut self, params: Json, before: &[Json], mut prefixes: BTreeMap<String, String>) -> Option<Vec<Json>> {
        let mut values = self.dialect.carried(params)?;
        if values.len() != before.len() {
            return None;
        }
        let mut pieces = self.pieces(before);
        let mut texts: BTreeMap<String, Vec<&mut String>> = BTreeMap::new();
        for value in &mut values {
            for (text_id, text) in self.dialect.texts(value) {
                texts.entry(text_id).or_default().push(text);
            }
        }
        for (text_id, mut texts) in texts {
            let (end, pieces) = (prefixes.remove(&text_id)?, pieces.remove(&text_id)?);
            let first = texts.first_mut()?;
            // Released text cannot be taken back.
            **first = first.strip_prefix(end.as_str())?.to_owned();
            if !concatenated::take_apart(&pieces, &mut texts) {
                return None;
            }
        }
        Some(values)
    }

    /// The last bytes of a running text, of this stream or of an earlier one of its task.
    fn end_of(&self, text_id: &str) -> String {
        let earlier = || self.route.judged.end(&self.dialect.scope()?, text_id);
        self.ends.get(text_id).cloned().or_else(earlier).unwrap_or_default()
    }

    fn remember_ends(&mut self, value: &mut Json) {
        let scope = self.dialect.scope();
        for (text_id, text) in self.dialect.texts(value) {
            if let Some(scope) = &scope {
                self.route.judged.go_on(scope, &text_id, text);
            }
            if self.ends.len() >= MAX_TEXTS && !self.ends.contains_key(&text_id) {
                self.ends.pop_first();
            }
            let end = self.ends.entry(text_id).or_default();
            judged_units::lengthen(end, text);
        }
    }
}

impl<D: Dialect + Sync> Follow for Hold<D> {
    /// Takes an event; returns those that may go on. `waiting` are the bytes of one that has not arrived whole.
    async fn take(&mut self, event: Event, waiting: usize) -> Result<Vec<Event>, Last> {
        let bytes = unfolded_as_tree(event.data.as_bytes()) + event.name.len();
        if let Err(fault) = self.room.take(self.held_bytes.saturating_add(bytes + waiting)).await {
            return Err(self.broken(&fault.to_string()));
        }
        let mut value = match self.dialect.read(&event) {
            Ok(value) => value,
            Err(why) => return Err(self.broken(&why)),
        };
        if has_long_id(&value) {
            return Err(self.broken(&format!("the agent behind the gateway sent {LONG_ID}")));
        }
        if let Some(denial) = self.stopped_elsewhere().await {
            return Err(self.broken(&denial.text()));
        }
        let completes = self.dialect.completes(&value);
        let scope = self.dialect.scope();
        self.begin_chain(scope.as_deref());
        self.route.judged.renew(scope.as_deref(), &mut value);
        let lines = self.lines_of(&event);
        let known = match &lines {
            Some(lines) if !judged_units::is_bare(lines) => Novelty::New,
            Some(_) | None => self.route.judged.known(self.chain, &value),
        };
        match known {
            // A value without words overtakes the held ones, unless it says that something is whole.
            Novelty::Bare if self.held.is_empty() || !completes => {
                self.admit_identifiers(&value, lines).await?;
                return Ok(vec![self.dialect.write(&event, &value)]);
            }
            Novelty::Released if self.held.is_empty() => {
                let question = self.dialect.question(vec![value.clone()]);
                let passes = match self.route.verdicts.repeat(&question).await {
                    Ok(None) => Ok(()),
                    // It had its new form when it was released.
                    Ok(Some(_)) => Err(Denial::unmodifiable(question.stage)),
                    Err(denial) => Err(denial),
                };
                passes.map_err(|denial| self.denied(&denial))?;
                self.admit_identifiers(&Json::Null, lines).await?;
                self.see(judged_units::identifiers(&value));
                self.pass(scope.as_deref(), &value, &value);
                self.remember_ends(&mut value);
                return Ok(vec![self.dialect.write(&event, &value)]);
            }
            Novelty::Bare | Novelty::Released | Novelty::New => {}
        }
        self.held_bytes += bytes;
        let size = event.data.len() + event.name.len();
        if let Some(value) = lines {
            self.held.push(Held { event: None, value });
        }
        let event = Some(event);
        self.held.push(Held { event, value });
        self.held_size += size;
        if completes || self.held_size >= self.route.settings.hold_bytes || self.held.len() >= MAX_HELD {
            self.release().await
        } else {
            Ok(Vec::new())
        }
    }

    /// Takes room for an event that has not arrived whole.
    async fn wait_for(&mut self, waiting: usize) -> Result<(), Last> {
        match self.room.take(self.held_bytes.saturating_add(waiting)).await {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.broken(&fault.to_string())),
        }
    }

    /// Judges the held events.
    async fn release(&mut self) -> Result<Vec<Event>, Last> {
        let held = std::mem::take(&mut self.held);
        (self.held_bytes, self.held_size) = (0, 0);
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let (events, values): (Vec<Option<Event>>, Vec<Json>) =
            held.into_iter().map(|held| (held.event, held.value)).unzip();
        let (joined, prefixes) = self.joined(&values);
        let question = self.dialect.question(joined);
        let became = match self.route.verdicts.ask(&question, Depth::Whole).await {
            Ok(None) => Some(values.clone()),
            Ok(Some(params)) => self.unjoined(params, &values, prefixes),
            Err(denial) => return Err(self.denied(&denial)),
        };
        let changes_lines = |became: &Vec<Json>| {
            let pairs = events.iter().zip(values.iter().zip(became));
            pairs
                .filter(|(event, _)| event.is_none())
                .any(|(_, (before, after))| before != after)
        };
        let Some(became) = became.filter(|became| !changes_lines(became)) else {
            return Err(self.denied(&Denial::unmodifiable(Stage::Response)));
        };
        let scope = self.dialect.scope();
        let mut released = Vec::with_capacity(events.len());
        for ((event, value), became) in events.iter().zip(&values).zip(&became) {
            match event {
                Some(event) => {
                    self.pass(scope.as_deref(), value, became);
                    self.remember_ends(&mut became.clone());
                    self.see(judged_units::identifiers(value));
                    released.push(self.dialect.write(event, became));
                }
                None => self.see(judged_units::identifiers(value)),
            }
        }
        Ok(released)
    }

    fn broken(&mut self, why: &str) -> Last {
        self.held.clear();
        self.dialect.end_broken(why)
    }
}

/// Judges a list of events that is there as a whole, as a stream of them would be; returns what may be shown, and whether that is all.
pub(super) async fn judge_list<D: Dialect + Sync>(mut hold: Hold<D>, events: VecDeque<Event>) -> (Vec<Event>, bool) {
    let mut shown = Vec::new();
    for event in events {
        match hold.take(event, 0).await {
            Ok(released) => shown.extend(released),
            Err(last) => {
                shown.extend(last);
                return (shown, false);
            }
        }
    }
    match hold.release().await {
        Ok(released) => {
            shown.extend(released);
            (shown, true)
        }
        Err(last) => {
            shown.extend(last);
            (shown, false)
        }
    }
}
