//! Watch: notices edits of the files of a configuration, in whatever way an editor, a deployment or Kubernetes makes them.
//!
//! Folders are watched rather than files: a file that is replaced by renaming another one is a new file under an old name. An event there
//! only starts a comparison of what the files hold with what they held; a reload follows from a difference. A file that is being written in
//! place is waited for, until it is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::Reloader;
use super::watched::Watched;

/// The time for which nothing may happen before files are read.
const QUIET: Duration = Duration::from_millis(50);
/// The longest time that a file that is being written is waited for.
const MAX_WRITING: Duration = Duration::from_secs(2);
/// The interval at which files are looked at although nothing was heard: network file systems tell nothing.
const POLL: Duration = Duration::from_secs(30);
/// The same where folders cannot be watched.
const POLL_ONLY: Duration = Duration::from_secs(2);

/// The data that the callback and the loop share.
#[derive(Default)]
struct WatchState {
    watched: Watched,
    /// Files that were written to and not closed, and since when.
    writing: BTreeMap<PathBuf, Instant>,
}

/// Reloads whenever a file of the configuration has changed. Returns at once where there are no files, and otherwise never.
pub async fn watch(reloader: Arc<Reloader>) {
    let (watched, _) = reloader.seen();
    if watched.is_empty() {
        return;
    }
    let state = Arc::new(Mutex::new(WatchState {
        watched,
        ..WatchState::default()
    }));
    let (wake, mut woken) = mpsc::channel(1);
    // Without a watcher the channel stays open, and polling waits.
    let _open = wake.clone();
    let mut watcher = watcher(Arc::clone(&state), wake);
    let mut folders = BTreeSet::new();
    loop {
        let watched = lock(&state).watched.clone();
        let complete = follow(watcher.as_mut(), &mut folders, &watched);
        let looking = Arc::clone(&reloader);
        // A reload compiles policies and templates.
        let looked = tokio::task::spawn_blocking(move || {
            looking.look("file watch");
            looking.seen().0
        });
        let now = looked.await.unwrap_or_else(|_| watched.clone());
        if now != watched {
            // Other files belong to it from now on.
            lock(&state).watched = now;
            continue;
        }
        let poll = if complete { POLL } else { POLL_ONLY };
        // The result does not matter: something happened, or time has passed.
        let _ = tokio::time::timeout(poll, woken.recv()).await;
        settle(&state, &mut woken).await;
    }
}

fn lock(state: &Mutex<WatchState>) -> std::sync::MutexGuard<'_, WatchState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nothing happens, and nothing is being written.
async fn settle(state: &Mutex<WatchState>, woken: &mut mpsc::Receiver<()>) {
    let begun = Instant::now();
    while begun.elapsed() < MAX_WRITING {
        let quiet = tokio::time::timeout(QUIET, woken.recv()).await.is_err();
        let mut state = lock(state);
        state.writing.retain(|_, since| since.elapsed() < MAX_WRITING);
        if quiet && state.writing.is_empty() {
            return;
        }
    }
}

fn watcher(state: Arc<Mutex<WatchState>>, wake: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let on_event = move |event: notify::Result<Event>| {
        let Ok(event) = event else {
            // Something was missed: look.
            let _ = wake.try_send(());
            return;
        };
        let mut state = lock(&state);
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        // A file that was only read has not changed; a reload reads as well.
        if matches!(event.kind, EventKind::Access(_)) && event.kind != closed {
            return;
        }
        if !event.need_rescan() && !event.paths.iter().any(|path| state.watched.concerns(path)) {
            return;
        }
        for path in event.paths {
            match event.kind {
                EventKind::Modify(notify::event::ModifyKind::Data(_)) if cfg!(target_os = "linux") => {
                    state.writing.entry(path).or_insert_with(Instant::now);
                }
                _ => {
                    state.writing.remove(&path);
                }
            }
        }
        // A loop that is awake already needs no second call.
        let _ = wake.try_send(());
    };
    notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::warn!(%error, "folders cannot be watched: files are looked at every 2 seconds"))
        .ok()
}

/// Watches the folders that have to be watched now. Returns `true` if any is.
fn follow(watcher: Option<&mut RecommendedWatcher>, followed: &mut BTreeSet<PathBuf>, watched: &Watched) -> bool {
    let Some(watcher) = watcher else { return false };
    let wanted = watched.folders();
    for gone in followed.difference(&wanted) {
        // It may have been deleted.
        let _ = watcher.unwatch(gone);
    }
    followed.retain(|folder| wanted.contains(folder));
    for folder in &wanted {
        // A folder that was replaced by another one of its name has to be watched anew: so has one that is watched already.
        if watcher.watch(folder, RecursiveMode::NonRecursive).is_ok() {
            followed.insert(folder.clone());
        }
    }
    // A folder that is not there cannot be watched; the one above it is.
    !followed.is_empty()
}
