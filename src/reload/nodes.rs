//! Nodes: the version of the configuration that is in force on each, and the look at the files when another node has read its own.
//!
//! Files are each node's own. So a node that reads them again only gives the others a reason to look, and one whose files differ is reported.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::{NodeStatus, Reloader};
use crate::shared::{Link, Topic};
use crate::telemetry::names;

/// The time for which nodes may differ before that is reported: an edit does not reach all of them at once.
const GRACE: Duration = Duration::from_secs(5);

/// Tells the other nodes each time that this one has read its files, and looks at them when another one has.
pub fn join(reloader: &Arc<Reloader>, link: &Link) {
    let nodes = Nodes {
        reloader: Arc::downgrade(reloader),
        known: Mutex::default(),
    };
    link.join("configuration", Arc::new(nodes));
}

struct Nodes {
    /// Its guardian holds the link, which holds this.
    reloader: Weak<Reloader>,
    known: Mutex<OtherNodes>,
}

#[derive(Default)]
struct OtherNodes {
    others: Vec<String>,
    /// The time since which another version is in force elsewhere.
    differing_since: Option<Instant>,
    /// The number of nodes that were reported.
    reported: usize,
}

impl Topic for Nodes {
    fn tell(&self) -> String {
        let status = self
            .reloader
            .upgrade()
            .map(|reloader| status(&reloader))
            .unwrap_or_default();
        format!("{} {}", status.reads, status.version)
    }

    fn hear(&self, others: Vec<String>) {
        let Some(reloader) = self.reloader.upgrade() else {
            return;
        };
        let ours = status(&reloader).version;
        let differing = others.iter().filter(|told| version(told) != ours).count();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match differing {
            0 => known.differing_since = None,
            _ => _ = known.differing_since.get_or_insert_with(Instant::now),
        }
        let due = known.differing_since.is_none_or(|since| since.elapsed() >= GRACE);
        if due && known.reported != differing {
            known.reported = differing;
            report(&reloader, differing, others.len());
        }
        let is_new = others.iter().any(|told| !known.others.contains(told));
        known.others = others;
        if is_new {
            // A reload compiles policies and templates.
            tokio::task::spawn_blocking(move || reloader.look("another node"));
        }
    }
}

fn status(reloader: &Reloader) -> NodeStatus {
    reloader.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
