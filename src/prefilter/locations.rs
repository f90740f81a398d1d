//! The meaning of a file path: the root of everything, a user's home, a secret, a file that steers agents.
//!
//! Paths are compared as text: nothing here touches a file system. Both the command rules and the path rules ask it,
//! so that `rm`, `open(…)` and a `path` argument agree on what is dangerous.

mod spelling;

use std::sync::LazyLock;

use crate::policy::home_of;
use crate::text::glob::fits;
use crate::text::keywords::{Keywords, Word};

use crate::prefilter::words::locations_names::{
    ACCOUNTS, AGENTS, BUILDS, CREDENTIALS, DISPOSABLE, DISPOSABLE_ENDS, DISPOSABLE_INSIDE, ENVIRONMENTS, GUARDS,
    HARMLESS_DEVICES, HISTORIES, HOOKS, LOGINS, MEMORY, NEEDED, NO_SECRETS, OFTEN_GLOBBED, PASSWORD_HASHES, PERSONAL,
    PIPELINES, PRIVATE_KEYS, PRIVILEGES, ROTATED, STARTUPS, SYSTEM_DEEPER, SYSTEM_INSIDE, SYSTEM_TOPS, VAULTS,
};
use spelling::{homely, is_home, spell_out};

/// A path with its spelling tricks taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Lower case, `/` between the parts, no `.` and no `..` left; a home directory is `~`.
    text: String,
    /// The levels that a relative path climbs before it descends.
    climbs: usize,
    /// The home in which it lies, where the path names one: `/home/ann`, `~ann`.
    home: Option<String>,
}

/// The extent of what a deletion of a path takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breadth {
    /// The root of the file system or of a drive.
    Everything,
    /// A whole home directory, or all of them.
    Home,
    /// A directory that the system lives in.
    SystemDirectory,
    /// Something inside a system directory.
    SystemFile,
    /// All of the current directory, of its parent, or of the version history.
    Surroundings,
    /// Build products, caches and temporary files.
    Disposable,
    /// Anything else.
    Other,
}

impl Breadth {
    /// Returns `true` if a machine or a person loses everything there.
    pub(super) fn is_vital(self) -> bool {
        matches!(self, Breadth::Everything | Breadth::Home | Breadth::SystemDirectory)
    }
}

/// The kind of secret that a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secret {
    /// Password hashes of the system.
    PasswordHashes,
    /// Private keys.
    PrivateKey,
    /// Keys of a cloud, a cluster or a service.
    Credentials,
    /// Data that browsers, key rings, password managers and wallets keep.
    Vault,
    /// The memory of the machine or of a process, and the variables that a process was started with.
    Memory,
    /// Environment variables of a project.
    Environment,
    /// Command histories.
    History,
    /// Accounts, without their passwords.
    Accounts,
}

impl Secret {
    /// Returns `true` if no program reads it by the way: losing it means losing an account.
    pub(super) const fn is_key_material(self) -> bool {
        match self {
            Secret::PasswordHashes | Secret::PrivateKey | Secret::Credentials | Secret::Vault | Secret::Memory => true,
            Secret::Environment | Secret::History | Secret::Accounts => false,
        }
    }
}

/// The thing that a file steers when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steering {
    /// The watch over an agent: its hooks, and the guardian's own files.
    Guard,
    /// An agent, which reads it as instructions or settings.
    Agent,
    /// An editor or a version control system, which runs it by itself.
    Hook,
    /// A build server, which runs it.
    Pipeline,
    /// Programs that run at login, at boot or on a timer.
    Startup,
    /// The users who may log in.
    Login,
    /// The users who may become administrator.
    Privilege,
}

impl Location {
    /// Reads a path, whatever its spelling.
    pub(super) fn of(path: &str) -> Self {
        let spelled = spell_out(path);
        let mut parts: Vec<&str> = Vec::new();
        let mut climbs = 0;
        let mut absolute = spelled.starts_with('/');
        let mut home = None;
        for part in spelled.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    let is_home = matches!(parts.as_slice(), ["~"]);
                    if parts.pop().is_none() && !absolute {
                        climbs += 1;
                    } else if is_home {
                        parts.push("home");
                        (absolute, home) = (true, None);
                    }
                }
                // `~alice` is a home like any other; a name may end with a tilde, but not begin with one.
                other if parts.is_empty() && !absolute && climbs == 0 && is_home(other) => {
                    parts.push("~");
                    home = Some(other).filter(|named| *named != "~").map(str::to_owned);
                }
                other => parts.push(other),
            }
        }
        let mut text = parts.join("/");
        if absolute {
            text.insert(0, '/');
        }
        for prefix in ["/proc/self/root", "/proc/1/root", "/proc/self/cwd/.."] {
            if let Some(rest) = text.strip_prefix(prefix) {
                text = if rest.is_empty() { "/" } else { rest }.to_owned();
            }
        }
        Self {
            home: home_of(&text).or(home),
            text: homely(text),
            climbs,
        }
    }

    /// Returns the home in which it lies, as the path names it.
    pub(super) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// The path as it is compared.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the levels that a relative path climbs before it descends.
    pub(super) fn climbs(&self) -> usize {
        self.climbs
    }

    /// The path as if it began at the root, for comparison with places that have one name.
    fn rooted(&self) -> String {
        if self.text.starts_with('/') || self.text.get(1..2) == Some(":") {
            self.text.clone()
        } else {
            format!("/{}", self.text)
        }
    }

    fn name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the extent of what a deletion would take away.
    pub(super) fn breadth(&self) -> Breadth {
        let bare = self.text.trim_end_matches(['*', '.']).trim_end_matches('/');
        if self.climbs > 0 && bare.is_empty() {
            return Breadth::Surroundings;
        }
        let rooted = self.rooted();
        if self.climbs < 2 && !self.text.starts_with(['/', '~']) && self.text.get(1..2) != Some(":") {
            return if bare.is_empty() || bare == ".git" {
                Breadth::Surroundings
            } else if self.is_disposable() {
                Breadth::Disposable
            } else {
                Breadth::Other
            };
        }
        let bare = rooted.trim_end_matches('*').trim_end_matches('/');
        let is_drive = bare.len() == 2 && bare.ends_with(':');
        if bare.is_empty() || is_drive {
            return Breadth::Everything;
        }
        let tilde = bare.trim_start_matches('/');
        let of_person = tilde
            .strip_prefix("~/")
            .or_else(|| tilde.strip_prefix("~root/"))
            .is_some_and(|below| PERSONAL.contains(&below));
        if of_person || matches!(tilde, "~" | "~root") || matches!(bare, "/home" | "/users" | "c:/users") {
            return Breadth::Home;
        }
        let top = bare.strip_prefix('/').unwrap_or(bare);
        if let Some((known, _)) = rooted
            .strip_prefix('/')
            .filter(|name| !name.contains('/'))
            .and_then(|name| name.split_once(['*', '?', '[']))
        {
            // `/???`, `/e*`: a pattern right below the root.
            if known.is_empty() {
                return Breadth::Everything;
            }
            if SYSTEM_TOPS.iter().any(|top| top.starts_with(known)) {
                return Breadth::SystemDirectory;
            }
        }
        if SYSTEM_TOPS.contains(&top) || SYSTEM_DEEPER.contains(&bare) {
            return Breadth::SystemDirectory;
        }
        if self.is_system() {
            return Breadth::SystemFile;
        }
        if is_put_away(bare) || self.is_disposable() {
            return Breadth::Disposable;
        }
        Breadth::Other
    }

    /// Returns `true` if it is a log of the system that was rotated: `/var/log/syslog.1`, `/var/log/nginx/*.gz`.
    pub(super) fn is_rotated_log(&self) -> bool {
        let number = |name: &str| name.len() <= 3 && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let name = self.name();
        self.text.starts_with("/var/log/")
            && (ROTATED.iter().any(|end| name.ends_with(end))
                || name.rsplit_once('.').is_some_and(|(_, last)| number(last)))
    }

    fn is_disposable(&self) -> bool {
        let bare = self.text.trim_end_matches(['*', '/']);
        let name = bare.rsplit('/').next().unwrap_or(bare);
        bare.split('/').any(|part| DISPOSABLE.contains(&part))
            || DISPOSABLE_ENDS
                .iter()
                .any(|end| name.ends_with(end) && name.len() > end.len())
            || matches!(self.text.as_str(), "/tmp" | "/tmp/*" | "/var/tmp" | "/var/tmp/*")
    }

    /// Returns `true` if it lies inside a directory that belongs to the system.
    pub(super) fn is_system(&self) -> bool {
        let rooted = self.rooted();
        if HARMLESS_DEVICES.contains(&rooted.as_str())
            || rooted.starts_with("/dev/fd/")
            || rooted.starts_with("/dev/shm/")
            || is_put_away(&rooted)
            || self.is_rotated_log()
        {
            return false;
        }
        if self.climbs < 2 && rooted != self.text && !self.text.starts_with('~') {
            return false;
        }
        let rooted = if self.text.starts_with("~root") {
            self.text.clone()
        } else {
            rooted
        };
        SYSTEM_INSIDE.iter().any(|top| rooted.starts_with(top))
            || rooted
                .strip_prefix("/usr/")
                .is_some_and(|name| !name.contains('/') && name.contains('.'))
    }

    /// Returns `true` if a machine needs it to start or to let a user log in, so that no one deletes it in passing.
    pub(super) fn is_needed(&self) -> bool {
        self.is_system() && self.listed()(&NEEDED)
    }

    /// Returns `true` if it is a disk.
    pub(super) fn is_disk(&self) -> bool {
        let Some(device) = self.text.strip_prefix("/dev/") else {
            return self.text.starts_with("//./physicaldrive") || self.text.starts_with("/physicaldrive");
        };
        [
            "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "mapper/", "md", "dm-", "rdisk", "loop",
        ]
        .iter()
        .any(|prefix| {
            device
                .strip_prefix(prefix)
                .is_some_and(|rest| !rest.is_empty() || *prefix == "disk")
        })
    }

    /// Returns the kind of secret it holds, if it is known for one; a pattern of names, the first that it fits.
    pub(super) fn secret(&self) -> Option<Secret> {
        self.plain_secret().or_else(|| {
            if !self.text.contains(['?', '*', '[']) {
                return None;
            }
            // A pattern that says nothing of the name means all files, not this one.
            let mut in_class = false;
            let letters = self
                .name()
                .chars()
                .filter(|c| {
                    match c {
                        '[' => in_class = true,
                        ']' => in_class = false,
                        _ => {}
                    }
                    !in_class && c.is_ascii_alphabetic()
                })
                .count();
            let path = self.rooted();
            OFTEN_GLOBBED
                .iter()
                .filter(|_| letters >= 2)
                .find(|known| fits(path.as_bytes(), known.as_bytes()))
                .and_then(|known| Self::of(known).plain_secret())
        })
    }

    fn plain_secret(&self) -> Option<Secret> {
        let is = self.listed();
        let first = [(&PASSWORD_HASHES, Secret::PasswordHashes), (&MEMORY, Secret::Memory)];
        let others = [
            (&PRIVATE_KEYS, Secret::PrivateKey),
            (&CREDENTIALS, Secret::Credentials),
            (&VAULTS, Secret::Vault),
            (&ENVIRONMENTS, Secret::Environment),
            (&HISTORIES, Secret::History),
            (&ACCOUNTS, Secret::Accounts),
        ];
        let find = |kinds: &[(&LazyLock<Vec<&str>>, Secret)]| {
            let mut kinds = kinds.iter();
            kinds.find(|(list, _)| is(list)).map(|(_, secret)| *secret)
        };
        find(&first).or_else(|| find(&others).filter(|_| !is(&NO_SECRETS)))
    }

    /// Returns what it steers when it is written.
    pub(super) fn steering(&self) -> Option<Steering> {
        let is = self.listed();
        let kinds = [
            (&LOGINS, Steering::Login),
            (&PRIVILEGES, Steering::Privilege),
            (&STARTUPS, Steering::Startup),
            (&GUARDS, Steering::Guard),
            (&AGENTS, Steering::Agent),
            (&HOOKS, Steering::Hook),
            (&PIPELINES, Steering::Pipeline),
        ];
        let mut kinds = kinds.into_iter();
        kinds.find(|(list, _)| is(list)).map(|(_, steering)| steering)
    }

    /// Returns `true` if it is this file, which has an absolute path: as a whole, or named from a folder on the way there.
    pub(super) fn is_file(&self, file: &str) -> bool {
        let file = Self::of(file);
        let text = self.text.as_str();
        match text.starts_with(['/', '~']) {
            true => file.text == text,
            false => !text.is_empty() && file.text.strip_suffix(text).is_some_and(|folder| folder.ends_with('/')),
        }
    }

    /// Returns `true` if it watches an agent: a hook of its program, a file of the guardian, or the policy that was read from this file.
    pub(super) fn is_guard(&self, policy: Option<&str>) -> bool {
        self.steering() == Some(Steering::Guard) || policy.is_some_and(|file| self.is_file(file))
    }

    /// Returns `true` if something runs out of it when work is built, opened, installed or provisioned, or by the clock.
    pub(super) fn is_build(&self) -> bool {
        self.listed()(&BUILDS)
    }

    /// Returns a test of whether the path fits an entry of a list. Most fit none of any, which one pass over it tells.
    fn listed(&self) -> impl Fn(&[&str]) -> bool {
        static PARTS: LazyLock<Keywords> = LazyLock::new(|| {
            let lists: [&[&str]; 18] = [
                &PASSWORD_HASHES,
                &MEMORY,
                &PRIVATE_KEYS,
                &CREDENTIALS,
                &VAULTS,
                &ENVIRONMENTS,
                &HISTORIES,
                &ACCOUNTS,
                &NEEDED,
                &NO_SECRETS,
                &LOGINS,
                &PRIVILEGES,
                &STARTUPS,
                &GUARDS,
                &AGENTS,
                &HOOKS,
                &PIPELINES,
                &BUILDS,
            ];
            let entries = lists.concat();
            let terms = entries.iter().flat_map(|entry| entry.split(" & ").take(1));
            Keywords::of([terms.map(|term| Word::exact(longest_piece(term))).collect()])
        });
        let path = self.rooted();
        let name = self.name().to_owned();
        let may_fit = !PARTS.hits(&path).is_empty();
        move |list| may_fit && list.iter().any(|entry| fits_entry(entry, &path, &name))
    }
}

/// Returns `true` if it lies where things are kept that are fetched again or put away.
fn is_put_away(path: &str) -> bool {
    let inside = |place: &str| {
        path.strip_prefix(place)
            .is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    DISPOSABLE_INSIDE.iter().any(|place| inside(place))
}

/// Returns `true` if a path fits an entry of a list: `^start`, `end$`, `^whole$`, `=name` (`*` is anything), or a part;
/// terms joined by ` & ` all fit.
fn fits_entry(entry: &str, path: &str, name: &str) -> bool {
    entry.split(" & ").all(|term| {
        if let Some(pattern) = term.strip_prefix('=') {
            return fits(pattern.as_bytes(), name.as_bytes());
        }
        match (term.strip_prefix('^'), term.strip_suffix('$')) {
            (Some(start), Some(_)) => path == start.trim_end_matches('$'),
            (Some(start), None) => path.starts_with(start),
            (None, Some(end)) => path.ends_with(end),
            (None, None) => path.contains(term),
        }
    })
}

/// The longest part of a term that every path holds which fits it.
fn longest_piece(term: &str) -> &str {
    let term = term.trim_start_matches(['=', '^']).trim_end_matches('$');
    term.split('*').max_by_key(|piece| piece.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
