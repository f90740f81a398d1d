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
        ("/proc/1234/environ", Secret::Memory),
        ("/proc/kcore", Secret::Memory),
        ("/etc/sh?dow", Secret::PasswordHashes),
        ("/e??/s??d?w", Secret::PasswordHashes),
        ("/etc/[s]hadow", Secret::PasswordHashes),
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
        ("~/.claude/settings.json", Steering::Guard),
        (".cursor/hooks.json", Steering::Guard),
        ("/home/a/.codex/hooks.json", Steering::Guard),
        ("~/.gemini/settings.json", Steering::Guard),
        ("p/.github/hooks/guardian.json", Steering::Guard),
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

#[test]
fn the_file_of_the_policy_is_known_by_its_path_and_from_a_folder_on_the_way() {
    let policy = Some("/home/dev/guard/acme/policy.toml");
    for path in [
        "/home/dev/guard/acme/policy.toml",
        "~/guard/acme/policy.toml",
        "policy.toml",
        "acme/policy.toml",
        "./policy.toml",
    ] {
        assert!(Location::of(path).is_guard(policy), "{path}");
        assert!(!Location::of(path).is_guard(None), "{path}");
    }
    for path in ["other/policy.toml", "/srv/policy.toml", "licy.toml", "../x", ""] {
        assert!(!Location::of(path).is_guard(policy), "{path}");
    }
}

#[test]
fn files_that_run_or_steer_are_known_wherever_they_stand() {
    use crate::model::FileUse;
    use crate::prefilter::becomes_of;
    for path in [
        "./Makefile",
        ".github/workflows/ci.yml",
        "infra/warmup.tf",
        "/etc/cron.d/rot",
        "deploy/cron.d/rot",
        ".git/hooks/post-commit",
        "C:\\app\\package.json",
        "~/.config/fish/config.fish",
        "/home/a/.vimrc",
        ".gitea/workflows/ci.yml",
        "~/.ssh/authorized_keys",
    ] {
        assert_eq!(becomes_of(path), Some(FileUse::Runs), "{path}");
    }
    for path in [
        "CLAUDE.md",
        "sub/AGENTS.md",
        ".claude/settings.json",
        ".github/copilot-instructions.md",
        ".github/chatmodes/a.md",
        "skills/deploy/SKILL.md",
        "warp.md",
        ".goosehints",
        "repo/.augment/rules.md",
    ] {
        assert_eq!(becomes_of(path), Some(FileUse::Steers), "{path}");
    }
    for path in [
        "README.md",
        "src/data.json",
        "docs/makefile.txt",
        "notes.tfx",
        "src/main.rs",
    ] {
        assert_eq!(becomes_of(path), None, "{path}");
    }
}
