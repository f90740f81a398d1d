//! Programs that run what stands behind their own options as it is: `sudo`, `nohup`, `timeout 5`.

use super::options::after_options;
use super::{Inner, inner_call};
use crate::shell::Call;

/// How a wrapper's own arguments are told from those of what it runs.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word as value.
    valued: &'static [&'static str],
    /// Words that come before the program and are no options.
    operands: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group",
        ],
        0,
    ),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("nice", &["-n"], 0),
    wrapper("ionice", &["-c", "-n"], 0),
    wrapper("chrt", &[], 1),
    wrapper("taskset", &["-c"], 1),
    wrapper("stdbuf", &["-o", "-e", "-i"], 0),
    wrapper("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    wrapper("gtimeout", &["-s", "-k"], 1),
    wrapper("strace", &["-o", "-e", "-p", "-s"], 0),
    wrapper("ltrace", &["-o", "-e"], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("proxychains", &["-f"], 0),
    wrapper("proxychains4", &["-f"], 0),
    wrapper("torsocks", &[], 0),
    wrapper("chroot", &[], 1),
    wrapper("unshare", &[], 0),
    wrapper("setarch", &[], 1),
    wrapper("xvfb-run", &["-s", "-n"], 0),
    wrapper("caffeinate", &["-t"], 0),
    wrapper("winpty", &[], 0),
    wrapper("wsl", &["-d", "-u"], 0),
    wrapper("systemd-run", &["-p", "--unit"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("proot", &["-r", "-b", "-w"], 0),
    wrapper("firejail", &[], 0),
    wrapper("fakeroot", &[], 0),
    wrapper("fakechroot", &[], 0),
    wrapper("eatmydata", &[], 0),
    wrapper("valgrind", &[], 0),
    wrapper("prlimit", &[], 0),
    wrapper("cpulimit", &["-l"], 0),
    wrapper("choom", &["-n"], 0),
    wrapper("numactl", &["-C", "-N", "-m"], 0),
    wrapper("dbus-run-session", &[], 0),
    wrapper("dbus-launch", &[], 0),
    wrapper("systemd-inhibit", &[], 0),
    wrapper("rlwrap", &[], 0),
    wrapper("torify", &[], 0),
    wrapper("tsocks", &[], 0),
    wrapper("dtach", &["-n", "-A", "-c"], 0),
    wrapper("entr", &[], 0),
    wrapper("cross-env", &[], 0),
    wrapper("dotenv", &["-e", "-f"], 0),
    wrapper("capsh", &[], 0),
    wrapper("faketime", &[], 1),
    wrapper("setpriv", &["--reuid", "--regid"], 0),
    wrapper("ccache", &[], 0),
    wrapper("sem", &["-j"], 0),
];

/// What such a program runs; `None` for a program that is none of them.
pub(super) fn behind_options(call: &Call) -> Option<Vec<Inner>> {
    let program = call.program.as_str();
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == program)?;
    // `command -v` and `sudo -l` ask, they run nothing.
    if program == "command" && (call.has("-v") || call.has("-V")) {
        return Some(Vec::new());
    }
    let words = after_options(&call.args, wrapper.valued, wrapper.operands);
    Some(inner_call(words, false))
}
