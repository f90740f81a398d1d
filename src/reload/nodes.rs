//! Nodes: the version of the configuration that is in force on each, and the look at the files when another node has read its own.
//!
//! Files are each node's own. So a node that reads them again only gives the others a reason to look, and one whose files differ is reported.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::{Reloader, Word};
use crate::shared::{Link, Topic};
use crate::telemetry::names;

/// The time for which nodes may differ before that is reported: an edit does not reach all of them at once.
const GRACE: Duration = Duration::from_secs(5);

/// Tells the other nodes each time that this one has read its files, and looks at them when another one has.
pub fn join(reloader: &Arc<Reloader>, link: &Link) {
    let nodes = Nodes {
        reloader: Arc::downgrade(reloader),
        heard: Mutex::default(),
    };
    link.join("configuration", Arc::new(nodes));
}

struct Nodes {
    /// Its guardian holds the link, which holds this.
    reloader: Weak<Reloader>,
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    others: Vec<String>,
    /// The time since which another version is in force elsewhere.
    differing_since: Option<Instant>,
    /// The number of nodes that were reported.
    reported: usize,
}

impl Topic for Nodes {
    fn tell(&self) -> String {
        let word = self
            .reloader
            .upgrade()
            .map(|reloader| word(&reloader))
            .unwrap_or_default();
        format!("{} {}", word.reads, word.version)
    }

    fn hear(&self, others: Vec<String>) {
        let Some(reloader) = self.reloader.upgrade() else {
            return;
        };
        let ours = word(&reloader).version;
        let differing = others.iter().filter(|told| version(told) != ours).count();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match differing {
            0 => heard.differing_since = None,
            _ => _ = heard.differing_since.get_or_insert_with(Instant::now),
        }
        let due = heard.differing_since.is_none_or(|since| since.elapsed() >= GRACE);
        if due && heard.reported != differing {
            heard.reported = differing;
            report(&reloader, differing, others.len());
        }
        let is_new = others.iter().any(|told| !heard.others.contains(told));
        heard.others = others;
        if is_new {
            // A reload compiles policies and templates.
            tokio::task::spawn_blocking(move || reloader.look("another node"));
        }
    }
}

fn word(reloader: &Reloader) -> Word {
    reloader.word.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the version in what a node told.
fn version(told: &str) -> &str {
    told.split_once(' ').map_or("", |(_, version)| version)
}

fn report(reloader: &Reloader, differing: usize, others: usize) {
    metrics::gauge!(names::SHARED_DIFFERING).set(u32::try_from(differing).unwrap_or(u32::MAX));
    let line = format!(
        "configuration: {differing} of {others} other nodes have another version of organisations, policies, prompts, keys or issuers"
    );
    match (differing, others) {
        // The server is away, or there is no other node.
        (0, 0) => {}
        (0, _) => tracing::info!("all nodes have the same configuration again"),
        (_, _) => tracing::warn!("{line}"),
    }
    reloader
        .parts
        .control
        .report_differing((differing > 0).then_some(&line));
}
