//! What a file path stands for: the root of everything, somebody's home, a secret, a file that steers agents.
//!
//! Paths are compared as text: nothing here touches a file system. Both the command rules and the path rules ask it,
//! so that `rm`, `open(…)` and a `path` argument agree on what is dangerous.

/// A path with its spelling tricks taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Lower case, `/` between the parts, no `.` and no `..` left; a home directory is `~`.
    text: String,
    /// How many levels a relative path climbs before it descends.
    climbs: usize,
}

/// How much a deletion of a path takes away.
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

/// What kind of secret a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secret {
    /// Password hashes of the system.
    PasswordHashes,
    /// Private keys.
    PrivateKey,
    /// Keys of a cloud, a cluster or a service.
    Credentials,
    /// What browsers, key rings, password managers and wallets keep.
    Vault,
    /// Environment variables, of a project or of a process.
    Environment,
    /// Command histories.
    History,
    /// Accounts, without their passwords.
    Accounts,
}

impl Secret {
    /// What it is, for an explanation.
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Secret::PasswordHashes => "password hashes",
            Secret::PrivateKey => "private keys",
            Secret::Credentials => "stored credentials",
            Secret::Vault => "saved passwords, cookies or wallets",
            Secret::Environment => "environment variables, where keys are kept",
            Secret::History => "a command history",
            Secret::Accounts => "the list of accounts",
        }
    }

    /// What a file with it is, for an explanation.
    pub(super) const fn describe_path(self) -> &'static str {
        match self {
            Secret::PasswordHashes => "the file holds password hashes",
            Secret::PrivateKey => "the file holds private keys",
            Secret::Credentials => "the file holds stored credentials",
            Secret::Vault => "the file holds saved passwords, cookies or wallets",
            Secret::Environment => "the file holds environment variables, where keys are kept",
            Secret::History => "the file holds a command history",
            Secret::Accounts => "the file lists accounts",
        }
    }

    /// Whether nobody reads it by the way: losing it means losing an account.
    pub(super) const fn is_key_material(self) -> bool {
        match self {
            Secret::PasswordHashes | Secret::PrivateKey | Secret::Credentials | Secret::Vault => true,
            Secret::Environment | Secret::History | Secret::Accounts => false,
        }
    }
}

/// What a file steers when somebody writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steering {
    /// What an agent reads as instructions or settings.
    Agent,
    /// What an editor or a version control system runs by itself.
    Hook,
    /// What a build server runs.
    Pipeline,
    /// What runs at login, at boot or on a timer.
    Startup,
    /// Who may log in.
    Login,
    /// Who may become administrator.
    Privilege,
}

const SYSTEM_TOPS: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "proc",
    "sbin",
    "sys",
    "usr",
    "var",
    "opt",
    "srv",
    "system",
    "library",
    "applications",
];
const SYSTEM_DEEPER: &[&str] = &[
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share",
    "/usr/local",
    "/usr/include",
    "/var/log",
    "/var/lib",
    "/var/spool",
    "/var/mail",
    "/var/db",
    "c:/windows",
    "c:/windows/system32",
    "c:/program files",
    "c:/program files (x86)",
    "c:/programdata",
];
/// Inside these a single file belongs to the system; `/var/www`, `/opt` and `/usr/local` are where people work.
const SYSTEM_INSIDE: &[&str] = &[
    "/bin/",
    "/boot/",
    "/dev/",
    "/etc/",
    "/lib/",
    "/lib32/",
    "/lib64/",
    "/proc/",
    "/sbin/",
    "/sys/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/share/",
    "/usr/include/",
    "/var/log/",
    "/var/lib/",
    "/var/spool/",
    "/var/mail/",
    "/var/db/",
    "c:/windows/",
    "c:/program files/",
    "c:/programdata/",
    "~root/",
];
const HARMLESS_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/tty",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
];
const DISPOSABLE: &[&str] = &[
    "node_modules",
    "dist",
    "build",
    "target",
    "out",
    "coverage",
    "htmlcov",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".cache",
    ".next",
    ".nuxt",
    ".parcel-cache",
    ".turbo",
    ".gradle",
    ".venv",
    "venv",
    ".eggs",
    "obj",
    "tmp",
    "temp",
    ".terraform",
    "logs",
    ".ipynb_checkpoints",
    "cmake-build-debug",
    "_build",
    ".coverage",
];
const KEY_FILES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "identity.pem",
    "ssh_host_rsa_key",
    "ssh_host_ed25519_key",
    "ssh_host_ecdsa_key",
    "secring.gpg",
];
const CREDENTIAL_FILES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".s3cfg",
    ".boto",
    "application_default_credentials.json",
    ".dockercfg",
    ".npmrc",
    ".htpasswd",
    "rclone.conf",
];
const CREDENTIAL_PARTS: &[&str] = &[
    "/.aws/credentials",
    "/.aws/sso/cache",
    "/.kube/config",
    "/.azure/",
    "/.config/gcloud",
    "/.docker/config.json",
    "/.config/gh/hosts",
    "/.terraform.d/credentials",
    "/.oci/",
    "/run/secrets/",
    "/.config/doctl/",
    "/etc/kubernetes/admin.conf",
    "/.cargo/credentials",
    "/.gem/credentials",
    "/.snowflake/",
    "/.databrickscfg",
    "/.huggingface/token",
    "/.cache/huggingface/token",
];
const VAULT_PARTS: &[&str] = &[
    "/login data",
    "/cookies.sqlite",
    "/key4.db",
    "/logins.json",
    "/default/cookies",
    "/network/cookies",
    "/web data",
    "/library/keychains",
    ".keychain-db",
    "/.local/share/keyrings",
    "/.password-store",
    "/wallet.dat",
    "/.bitcoin/",
    "/.ethereum/keystore",
    "/.electrum/wallets",
    "/.config/solana/id.json",
    "/exodus.wallet",
    "/etc/krb5.keytab",
    "/microsoft/credentials",
    "/microsoft/protect",
];
const AGENT_FILES: &[&str] = &[
    "claude.md",
    "claude.local.md",
    "agents.md",
    "agent.md",
    "gemini.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules",
    "copilot-instructions.md",
    ".mcp.json",
    "mcp.json",
    "mcp_config.json",
    "claude_desktop_config.json",
    ".aider.conf.yml",
    ".goosehints",
];
const AGENT_PARTS: &[&str] = &[
    "/.claude/",
    "/.cursor/",
    "/.codex/",
    "/.gemini/",
    "/.windsurf/",
    "/.continue/",
    "/.roo/",
    "/.amazonq/",
    "/.github/instructions/",
    "/.github/prompts/",
];
const HOOK_PARTS: &[&str] = &[
    "/.git/hooks",
    "/.git/config",
    "/.husky/",
    "/.vscode/tasks.json",
    "/.vscode/settings.json",
    "/.vscode/launch.json",
    "/.idea/workspace.xml",
    "/.devcontainer/",
];
const HOOK_FILES: &[&str] = &[
    ".gitconfig",
    ".pre-commit-config.yaml",
    ".envrc",
    ".lefthook.yml",
    "sitecustomize.py",
];
const PIPELINE_PARTS: &[&str] = &[
    "/.github/workflows",
    "/.circleci/",
    "/.gitea/workflows",
    "/.forgejo/workflows",
    "/.buildkite/",
];
const PIPELINE_FILES: &[&str] = &[
    ".gitlab-ci.yml",
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".travis.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "appveyor.yml",
];
const STARTUP_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    "microsoft.powershell_profile.ps1",
    "profile.ps1",
    "config.fish",
];
const STARTUP_PARTS: &[&str] = &[
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/environment",
    "/etc/rc.local",
    "/etc/init.d/",
    "/etc/crontab",
    "/etc/cron.",
    "/var/spool/cron",
    "/etc/systemd/",
    "/lib/systemd/system/",
    "/.config/systemd/",
    "/.config/autostart/",
    "/library/launchagents",
    "/library/launchdaemons",
    "/start menu/programs/startup",
    "/etc/ld.so.preload",
    "/etc/update-motd.d/",
    "/etc/anacrontab",
    "/etc/xdg/autostart/",
];
const PRIVILEGE_PARTS: &[&str] = &[
    "/etc/sudoers",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/group",
    "/etc/pam.d/",
    "/etc/doas.conf",
    "/etc/polkit-1/",
];

impl Location {
    /// Reads a path, whatever its spelling.
    pub(super) fn of(path: &str) -> Self {
        let spelled = spell_out(path);
        let mut parts: Vec<&str> = Vec::new();
        let mut climbs = 0;
        let absolute = spelled.starts_with('/');
        for part in spelled.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    let home = matches!(parts.as_slice(), ["~"]);
                    if parts.pop().is_none() && !absolute {
                        climbs += 1;
                    } else if home {
                        parts.push("home");
                    }
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
                text = if rest.is_empty() {
                    "/".to_owned()
                } else {
                    rest.to_owned()
                };
            }
        }
        Self {
            text: homely(text),
            climbs,
        }
    }

    /// The path as it is compared.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// How many levels a relative path climbs before it descends.
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

    /// How much a deletion would take away.
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
        if matches!(tilde, "~" | "~root") || matches!(bare, "/home" | "/users" | "c:/users") {
            return Breadth::Home;
        }
        let top = bare.strip_prefix('/').unwrap_or(bare);
        if SYSTEM_TOPS.contains(&top) || SYSTEM_DEEPER.contains(&bare) {
            return Breadth::SystemDirectory;
        }
        if self.is_system() {
            return Breadth::SystemFile;
        }
        if bare.starts_with("/tmp/")
            || bare.starts_with("/var/tmp/")
            || bare.starts_with("/var/cache/")
            || self.is_disposable()
        {
            return Breadth::Disposable;
        }
        Breadth::Other
    }

    fn is_disposable(&self) -> bool {
        let name = self.text.trim_end_matches(['*', '/']);
        let name = name.rsplit('/').next().unwrap_or(name);
        DISPOSABLE.contains(&name)
            || [".pyc", ".o", ".tmp", ".log", ".swp", ".bak", "~", ".egg-info", ".class"]
                .iter()
                .any(|end| name.ends_with(end))
            || matches!(self.text.as_str(), "/tmp" | "/tmp/*" | "/var/tmp" | "/var/tmp/*")
    }

    /// Whether it lies inside a directory that belongs to the system.
    pub(super) fn is_system(&self) -> bool {
        let rooted = self.rooted();
        if HARMLESS_DEVICES.contains(&rooted.as_str())
            || rooted.starts_with("/dev/fd/")
            || rooted.starts_with("/dev/shm/")
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

    /// Whether it is a disk.
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

    /// What kind of secret it holds, if it is known for one.
    pub(super) fn secret(&self) -> Option<Secret> {
        let path = self.rooted();
        let name = self.name();
        if [
            "/etc/shadow",
            "/etc/gshadow",
            "/etc/master.passwd",
            "/etc/shadow-",
            "/etc/gshadow-",
            "/etc/security/opasswd",
        ]
        .iter()
        .any(|end| path.ends_with(end))
            || path.contains("/system32/config/sam")
            || path.contains("/system32/config/security")
            || name == "ntds.dit"
        {
            return Some(Secret::PasswordHashes);
        }
        if name == "authorized_keys"
            || name == "known_hosts"
            || (path.contains("/.ssh/") && (name.ends_with(".pub") || name == "config"))
        {
            return None;
        }
        if KEY_FILES.contains(&name)
            || path.contains("/.ssh/id_")
            || path.ends_with("/.ssh")
            || path.ends_with("/.ssh/*")
            || path.ends_with("/.gnupg")
            || path.contains("/.gnupg/")
            || path.contains("/etc/ssl/private")
            || (path.contains("/etc/letsencrypt/") && name.starts_with("privkey"))
        {
            return Some(Secret::PrivateKey);
        }
        if CREDENTIAL_FILES.contains(&name)
            || CREDENTIAL_PARTS.iter().any(|part| path.contains(part))
            || path.ends_with("/.aws")
        {
            return Some(Secret::Credentials);
        }
        if VAULT_PARTS.iter().any(|part| path.contains(part)) || name.ends_with(".kdbx") {
            return Some(Secret::Vault);
        }
        let template = ["example", "sample", "template", "dist"]
            .iter()
            .any(|end| name.ends_with(end));
        if ((name == ".env" || name.starts_with(".env.")) && !template)
            || (path.starts_with("/proc/") && name == "environ")
        {
            return Some(Secret::Environment);
        }
        if name.starts_with('.') && name.ends_with("_history") {
            return Some(Secret::History);
        }
        if path.ends_with("/etc/passwd") || path.ends_with("/etc/passwd-") || path.contains("/etc/sudoers") {
            return Some(Secret::Accounts);
        }
        None
    }

    /// What it steers when somebody writes it.
    pub(super) fn steering(&self) -> Option<Steering> {
        let path = self.rooted();
        let name = self.name();
        if name == "authorized_keys"
            || name == "authorized_keys2"
            || path.ends_with("/.ssh/config")
            || path.ends_with("/.ssh/rc")
        {
            return Some(Steering::Login);
        }
        if path.starts_with("/etc/ssh/sshd_config") {
            return Some(Steering::Login);
        }
        if PRIVILEGE_PARTS.iter().any(|part| path.starts_with(part)) {
            return Some(Steering::Privilege);
        }
        if STARTUP_FILES.contains(&name) || STARTUP_PARTS.iter().any(|part| path.contains(part)) {
            return Some(Steering::Startup);
        }
        if AGENT_FILES.contains(&name) || AGENT_PARTS.iter().any(|part| path.contains(part)) {
            return Some(Steering::Agent);
        }
        if HOOK_FILES.contains(&name) || HOOK_PARTS.iter().any(|part| path.contains(part)) {
            return Some(Steering::Hook);
        }
        if PIPELINE_FILES.contains(&name) || PIPELINE_PARTS.iter().any(|part| path.contains(part)) {
            return Some(Steering::Pipeline);
        }
        None
    }
}

/// Slashes are slashes, dots are dots, the home directory is `~`.
fn spell_out(path: &str) -> String {
    let mut text = path.trim().trim_matches(['"', '\'', '`']).to_owned();
    for _ in 0..2 {
        if text.contains('%') {
            text = percent_decoded(&text);
        }
    }
    let mut spelled: String = text
        .chars()
        .take_while(|c| *c != '\0')
        .flat_map(|c| {
            let (plain, again) = match c {
                '\\' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' | '\u{ff3c}' | '\u{29f5}' | '\u{2216}' => {
                    ('/', None)
                }
                '\u{2024}' | '\u{ff0e}' | '\u{fe52}' => ('.', None),
                '\u{2025}' => ('.', Some('.')),
                other => (other.to_ascii_lowercase(), None),
            };
            std::iter::once(plain).chain(again)
        })
        .collect();
    if let Some(rest) = spelled.strip_prefix("file://") {
        spelled = rest.strip_prefix("localhost").unwrap_or(rest).to_owned();
    } else if let Some(rest) = spelled.strip_prefix("file:") {
        spelled = rest.to_owned();
    }
    for home in [
        "${home}",
        "$home",
        "$env:userprofile",
        "%userprofile%",
        "$env:home",
        "%homepath%",
    ] {
        if let Some(rest) = spelled.strip_prefix(home)
            && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            spelled = format!("~{rest}");
        }
    }
    for (name, place) in [
        ("%systemdrive%", "c:"),
        ("$env:systemdrive", "c:"),
        ("%systemroot%", "c:/windows"),
        ("$env:windir", "c:/windows"),
        ("%windir%", "c:/windows"),
    ] {
        if let Some(rest) = spelled.strip_prefix(name) {
            spelled = format!("{place}{rest}");
        }
    }
    spelled
}

/// `/home/alice`, `/Users/alice` and `/root` are somebody's home.
fn homely(text: String) -> String {
    for parent in ["/home/", "/users/", "c:/users/"] {
        if let Some(rest) = text.strip_prefix(parent) {
            let (user, below) = rest.split_once('/').unwrap_or((rest, ""));
            if user.is_empty() || user == "*" || user == "public" || user == "shared" {
                return text;
            }
            return if below.is_empty() {
                "~".to_owned()
            } else {
                format!("~/{below}")
            };
        }
    }
    match text.strip_prefix("/root") {
        Some("") => "~root".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~root{rest}"),
        _ => text,
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (ahead.next().and_then(hex), ahead.next().and_then(hex));
        if let (b'%', (Some(high), Some(low))) = (byte, digits) {
            bytes.push(high << 4 | low);
            rest = ahead;
        } else {
            bytes.push(byte);
        }
    }
    // Overlong forms of `.` and `/` are no UTF-8, but some servers read them.
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        rest = match rest {
            [0xc0, 0xae, after @ ..] | [0xe0, 0x80, 0xae, after @ ..] => {
                plain.push(b'.');
                after
            }
            [0xc0, 0xaf, after @ ..] | [0xe0, 0x80, 0xaf, after @ ..] | [0xc1, 0x9c, after @ ..] => {
                plain.push(b'/');
                after
            }
            _ => {
                plain.push(*first);
                tail
            }
        };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_and_homes_are_known_in_every_spelling() {
        for path in [
            "/",
            "/*",
            "//",
            "/./",
            "/../..",
            "/etc/..",
            "/proc/self/root",
            "C:\\",
            "c:/*",
            "%SystemDrive%\\",
            "file:///",
            "../../../..",
        ] {
            let breadth = Location::of(path).breadth();
            assert!(
                matches!(breadth, Breadth::Everything | Breadth::Surroundings),
                "{path}: {breadth:?}"
            );
        }
        for path in [
            "~",
            "~/",
            "~/*",
            "$HOME",
            "${HOME}/",
            "/home/alice",
            "/home/alice/*",
            "/home",
            "/home/*",
            "/root",
            "/Users/bob",
            "%USERPROFILE%",
        ] {
            assert_eq!(Location::of(path).breadth(), Breadth::Home, "{path}");
        }
        for path in ["/etc", "/usr/*", "/var/log", "/bin/", "C:\\Windows", "/usr/bin"] {
            assert_eq!(Location::of(path).breadth(), Breadth::SystemDirectory, "{path}");
        }
        for path in ["*", ".", "./*", "..", "../*", ".git", "./.git/"] {
            assert_eq!(Location::of(path).breadth(), Breadth::Surroundings, "{path}");
        }
        for path in [
            "node_modules",
            "./dist",
            "/tmp/x",
            "target/",
            "build/*",
            "/work/app/node_modules",
        ] {
            assert_eq!(Location::of(path).breadth(), Breadth::Disposable, "{path}");
        }
        for path in [
            "src",
            "/home/alice/project/src",
            "~/notes",
            "/data/old",
            "$DIR/x",
            "$HOMEWORK",
        ] {
            assert_eq!(Location::of(path).breadth(), Breadth::Other, "{path}");
        }
    }

    #[test]
    fn secrets_are_known_through_traversal_and_encodings() {
        for (path, secret) in [
            ("/etc/shadow", Secret::PasswordHashes),
            ("../../../etc/shadow", Secret::PasswordHashes),
            ("..%2f..%2fetc%2fshadow", Secret::PasswordHashes),
            ("%252e%252e%252f%252e%252e%252fetc%252fshadow", Secret::PasswordHashes),
            ("..%c0%af..%c0%afetc/shadow", Secret::PasswordHashes),
            ("/usr/../etc/./shadow", Secret::PasswordHashes),
            ("/proc/self/root/etc/shadow", Secret::PasswordHashes),
            ("file:///etc/shadow", Secret::PasswordHashes),
            (
                "\u{2025}\u{2215}\u{2025}\u{2215}etc\u{2215}shadow",
                Secret::PasswordHashes,
            ),
            ("/etc/shadow\0.png", Secret::PasswordHashes),
            ("~/.ssh/id_ed25519", Secret::PrivateKey),
            ("C:\\Users\\bob\\.aws\\credentials", Secret::Credentials),
            ("/proc/1234/environ", Secret::Environment),
            (".env", Secret::Environment),
            (".env.production", Secret::Environment),
            ("~/.bash_history", Secret::History),
            ("/etc/passwd", Secret::Accounts),
        ] {
            assert_eq!(Location::of(path).secret(), Some(secret), "{path}");
        }
        for path in [
            "src/shadow.rs",
            ".env.example",
            "~/.ssh/id_rsa.pub",
            "docs/passwd.md",
            "id_card.png",
            "environ.py",
        ] {
            assert_eq!(Location::of(path).secret(), None, "{path}");
        }
    }

    #[test]
    fn files_that_steer_are_known() {
        for (path, steering) in [
            (".git/hooks/pre-commit", Steering::Hook),
            ("repo/.github/workflows/ci.yml", Steering::Pipeline),
            ("CLAUDE.md", Steering::Agent),
            ("/home/a/p/.cursor/mcp.json", Steering::Agent),
            ("~/.bashrc", Steering::Startup),
            ("/etc/cron.d/x", Steering::Startup),
            ("~/.ssh/authorized_keys", Steering::Login),
            ("/etc/sudoers.d/me", Steering::Privilege),
        ] {
            assert_eq!(Location::of(path).steering(), Some(steering), "{path}");
        }
        for path in ["src/main.rs", "README.md", "docs/agents-overview.md", ".gitignore"] {
            assert_eq!(Location::of(path).steering(), None, "{path}");
        }
    }
}
