//! Streams: events come in, are held, judged, and released; or the stream ends with the reason.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use reqwest::Response;

use super::body::Chunks;
use super::concatenated;
use super::denial::{Denial, Stage};
use super::json::Json;
use super::judged_units::{self, Recalled};
use super::route::Route;
use super::settings::StreamMode;
use super::sse::{Event, Splitter};
use super::upstream::UpstreamFault;
use super::verdicts::{Question, Ruling};

/// How one protocol puts things into streams.
pub(super) trait Dialect: Send {
    /// What an event carries.
    ///
    /// # Errors
    ///
    /// When it cannot be read: such an event never goes on.
    fn read(&mut self, event: &Event) -> Result<Json, String>;

    /// The event that carries this in place of what it carried.
    fn write(&self, event: &Event, value: &Json) -> Event;

    /// Whether something is whole with this event: held words are judged now.
    fn completes(&mut self, value: &Json) -> bool;

    /// Running texts that this event continues: the name of each, and the piece.
    fn texts<'v>(&self, value: &'v mut Json) -> Vec<(String, &'v mut String)>;

    /// To what the events belong, for what was judged before.
    fn scope(&self) -> String;

    /// The step that carries these.
    fn question(&mut self, values: Vec<Json>) -> Question;

    /// What such a step carries after it was modified.
    fn carried(&mut self, params: Json) -> Option<Vec<Json>>;

    /// How a stream ends that goes no further; whoever asks again for what it showed gets the same answer.
    fn end_denied(&mut self, denial: &Denial) -> Vec<Event>;

    /// How a stream ends that cannot be followed.
    fn end_broken(&mut self, why: &str) -> Vec<Event>;
}

/// How much of what was released is judged again with what follows.
const OVERLAP_BYTES: usize = 256;
const WINDOW_BYTES: usize = 1_024;
/// Running texts whose ends are remembered.
const MOST_LANES: usize = 64;
/// Events that are held at most, however small.
const MOST_HELD: usize = 4_096;

/// Relays a stream to its end. It ends early when its reader goes away.
pub(super) async fn relay<D: Dialect>(route: Arc<Route>, mut response: Response, dialect: D, out: Chunks) {
    let mut relay = Relay {
        splitter: Splitter::new(route.settings.max_message_bytes),
        hold: Hold::new(&route, dialect),
        out,
    };
    loop {
        let end = match route.upstream.as_ref() {
            Some(upstream) => upstream.chunk(&mut response).await,
            None => Ok(None),
        };
        let ended = match end {
            Ok(Some(chunk)) => relay.take(&chunk).await,
            Ok(None) => relay.finish(None).await,
            Err(fault) => relay.finish(Some(fault)).await,
        };
        if ended.is_err() {
            return;
        }
    }
}

/// A stream has come to its end, whatever it was.
struct Ended;

struct Relay<'r, D> {
    splitter: Splitter,
    hold: Hold<'r, D>,
    out: Chunks,
}

impl<D: Dialect> Relay<'_, D> {
    async fn take(&mut self, chunk: &[u8]) -> Result<(), Ended> {
        let events = match self.splitter.push(chunk) {
            Ok(events) => events,
            Err(fault) => {
                let last = self.hold.broken(&fault.to_string());
                return self.send_last(last).await;
            }
        };
        for event in events {
            match self.hold.take(event).await {
                Ok(released) => self.send(released).await?,
                Err(last) => return self.send_last(last).await,
            }
        }
        Ok(())
    }

    async fn finish(&mut self, fault: Option<UpstreamFault>) -> Result<(), Ended> {
        match self.hold.release().await {
            Ok(released) => self.send(released).await?,
            Err(last) => return self.send_last(last).await,
        }
        match fault {
            None => Err(Ended),
            Some(fault) => {
                let last = self.hold.broken(&fault.to_string());
                self.send_last(last).await
            }
        }
    }

    async fn send(&self, events: Vec<Event>) -> Result<(), Ended> {
        for event in events {
            self.out.send(event.to_bytes().into()).await.map_err(|_| Ended)?;
        }
        Ok(())
    }

    async fn send_last(&self, events: Vec<Event>) -> Result<(), Ended> {
        self.send(events).await?;
        Err(Ended)
    }
}

/// What of a stream is held.
pub(super) struct Hold<'r, D> {
    route: &'r Route,
    dialect: D,
    held: Vec<(Event, Json)>,
    held_bytes: usize,
    /// The last bytes of each running text that was released.
    ends: BTreeMap<String, String>,
}

/// Events that end a stream.
type Last = Vec<Event>;

impl<'r, D: Dialect> Hold<'r, D> {
    pub(super) fn new(route: &'r Route, dialect: D) -> Self {
        Self {
            route,
            dialect,
            held: Vec::new(),
            held_bytes: 0,
            ends: BTreeMap::new(),
        }
    }

    /// Takes an event; gives what may go on.
    pub(super) async fn take(&mut self, event: Event) -> Result<Vec<Event>, Last> {
        let value = match self.dialect.read(&event) {
            Ok(value) => value,
            Err(why) => return Err(self.broken(&why)),
        };
        let completes = self.dialect.completes(&value);
        let scope = self.dialect.scope();
        let known = match self.route.judged.recall(&scope, &value) {
            Recalled::All(value) => Some(value),
            Recalled::Part(_) => None,
        };
        // What says nothing new overtakes what is held, unless it says that something is whole.
        if let Some(value) = &known
            && (self.held.is_empty() || (!completes && judged_units::is_bare(value)))
        {
            return Ok(vec![self.dialect.write(&event, value)]);
        }
        self.held_bytes += event.data.len() + event.name.len();
        self.held.push((event, value));
        let most = match self.route.settings.stream_mode {
            StreamMode::Event | StreamMode::Observe => 0,
            StreamMode::Window => WINDOW_BYTES.min(self.route.settings.hold_bytes),
            StreamMode::Hold => self.route.settings.hold_bytes,
        };
        if completes || self.held_bytes >= most || self.held.len() >= MOST_HELD {
            self.release().await
        } else {
            Ok(Vec::new())
        }
    }

    /// Judges what is held.
    pub(super) async fn release(&mut self) -> Result<Vec<Event>, Last> {
        let held = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let (events, values): (Vec<Event>, Vec<Json>) = held.into_iter().unzip();
        let (joined, led) = self.joined(&values);
        let question = self.dialect.question(joined);
        let ruling = if self.route.settings.stream_mode == StreamMode::Observe {
            self.route.observe(question);
            Ruling::Allow
        } else {
            self.route.verdicts.ask(&question).await
        };
        let became = match ruling {
            Ruling::Allow => values.clone(),
            Ruling::Modify(params) => match self.unjoined(params, &values, led) {
                Some(became) => became,
                None => {
                    let message = "The answer could only go on in a form that is not possible here, so it was stopped.";
                    return Err(self.denied(&Denial::undecided(Stage::Response, "modification_refused", message)));
                }
            },
            Ruling::Deny(denial) => return Err(self.denied(&denial)),
        };
        let scope = self.dialect.scope();
        let mut released = Vec::with_capacity(events.len());
        for ((event, value), became) in events.iter().zip(&values).zip(&became) {
            self.route.judged.remember(&scope, value, became);
            self.remember_ends(&mut became.clone());
            released.push(self.dialect.write(event, became));
        }
        Ok(released)
    }

    fn denied(&mut self, denial: &Denial) -> Last {
        self.held.clear();
        self.dialect.end_denied(denial)
    }

    pub(super) fn broken(&mut self, why: &str) -> Last {
        self.held.clear();
        self.dialect.end_broken(why)
    }

    /// The values as they are judged: in the place of the first piece of each running text the whole of it, after the end of what was
    /// released of it before. And what was put before each.
    fn joined(&self, values: &[Json]) -> (Vec<Json>, BTreeMap<String, String>) {
        let mut values = values.to_vec();
        let mut whole = self.pieces(&values);
        let end = |lane: &String| self.ends.get(lane).cloned().unwrap_or_default();
        let led = whole.keys().map(|lane| (lane.clone(), end(lane))).collect();
        for value in &mut values {
            for (lane, text) in self.dialect.texts(value) {
                if let Some(pieces) = whole.remove(&lane) {
                    *text = end(&lane) + &pieces.concat();
                }
            }
        }
        (values, led)
    }

    fn pieces(&self, values: &[Json]) -> BTreeMap<String, Vec<String>> {
        let mut pieces: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for value in &mut values.to_vec() {
            for (lane, text) in self.dialect.texts(value) {
                pieces.entry(lane).or_default().push(text.clone());
            }
        }
        pieces
    }

    /// What a verdict made of joined values, taken apart again. `None` where that cannot be done.
    fn unjoined(&mut self, params: Json, before: &[Json], mut led: BTreeMap<String, String>) -> Option<Vec<Json>> {
        let mut values = self.dialect.carried(params)?;
        if values.len() != before.len() {
            return None;
        }
        let mut pieces = self.pieces(before);
        let mut texts: BTreeMap<String, Vec<&mut String>> = BTreeMap::new();
        for value in &mut values {
            for (lane, text) in self.dialect.texts(value) {
                texts.entry(lane).or_default().push(text);
            }
        }
        for (lane, mut texts) in texts {
            let (end, pieces) = (led.remove(&lane)?, pieces.remove(&lane)?);
            let first = texts.first_mut()?;
            // What was released cannot be taken back.
            **first = first.strip_prefix(end.as_str())?.to_owned();
            if !concatenated::take_apart(&pieces, &mut texts) {
                return None;
            }
        }
        Some(values)
    }

    fn remember_ends(&mut self, value: &mut Json) {
        for (lane, text) in self.dialect.texts(value) {
            if self.ends.len() >= MOST_LANES && !self.ends.contains_key(&lane) {
                self.ends.pop_first();
            }
            let end = self.ends.entry(lane).or_default();
            end.push_str(text);
            let mut from = end.len().saturating_sub(OVERLAP_BYTES);
            while !end.is_char_boundary(from) {
                from += 1;
            }
            end.drain(..from);
        }
    }
}

/// Judges a list of events that is there as a whole, as a stream of them would be; gives what may be shown, and whether that is all.
pub(super) async fn judge_list<D: Dialect>(route: &Route, dialect: D, events: VecDeque<Event>) -> (Vec<Event>, bool) {
    let mut hold = Hold::new(route, dialect);
    let mut shown = Vec::new();
    for event in events {
        match hold.take(event).await {
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
