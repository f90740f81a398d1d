//! Other things that calls give to hosts besides files: keys that belong to another host, and all files of a machine.

use crate::prefilter::hosts::{host_of, is_near};
use crate::prefilter::locations::Location;
use crate::shell::Call;

/// Keys in variables, and a part of the names of the hosts that they belong to.
const KEYS_OF_HOSTS: &[(&str, &[&str])] = &[
    ("AWS_SECRET_ACCESS_KEY", &["amazonaws"]),
    ("AWS_SESSION_TOKEN", &["amazonaws"]),
    ("GITHUB_TOKEN", &["github", "ghcr"]),
    ("GH_TOKEN", &["github", "ghcr"]),
    ("GITLAB_TOKEN", &["gitlab"]),
    ("NPM_TOKEN", &["npm", "registry"]),
    ("STRIPE_SECRET_KEY", &["stripe"]),
    ("DATABASE_URL", &["\0"]),
];

/// Returns `true` if a request carries a key in a variable to a named host that is neither its own nor a local one.
pub(super) fn sends_foreign_key(call: &Call) -> bool {
    if !matches!(call.program.as_str(), "curl" | "wget") {
        return false;
    }
    let line = call.line();
    let Some((_, rest)) = line.split_once("://") else {
        return false;
    };
    let host = host_of(rest.split(' ').next().unwrap_or(rest));
    !is_near(host)
        && KEYS_OF_HOSTS.iter().any(|(name, hosts)| {
            let used = line
                .match_indices(name)
                .any(|(at, _)| line.get(..at).is_some_and(|head| head.ends_with(['$', '{'])));
            // A host in a variable may be its own.
            used && !host.contains('$') && !hosts.iter().any(|own| host.contains(own))
        })
}

/// Returns `true` if a call starts a file server over the whole system or a user's home.
pub(super) fn serves_everything(call: &Call) -> bool {
    let has = |word: &str| call.has(word);
    let (serves, named) = match call.program.as_str() {
        "python" | "python3" => (
            has("http.server") || has("SimpleHTTPServer"),
            &["--directory", "-d"][..],
        ),
        "php" => (has("-S"), &["-t"][..]),
        "ruby" => (has("httpd"), &["httpd"][..]),
        "busybox" => (has("httpd"), &["-h"][..]),
        "httpd" => (true, &["-h"][..]),
        _ => return false,
    };
    let place = call
        .values(named)
        .next()
        .map_or_else(|| call.directory.clone(), |(_, place)| Some(place.to_owned()));
    let broad = |place: String| place != "." && Location::of(&place).breadth().is_vital();
    serves && place.is_some_and(broad)
}
