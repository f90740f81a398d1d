//! Commands whose words alone say what they do: one table, no logic of their own.
//!
//! A line names programs and the words that all have to be among the arguments; everything is compared in lower case.
//! `a|b` is either, `%` stands for anything, `?` for a digit, `-x` is a short flag, alone or bundled. What needs more
//! than words to tell — paths, hosts, what is piped in — lives in the other modules.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::platforms::names_only_throwaways;
use super::{Danger, Seen};
use crate::shell::Call;

/// What the commands of a group do, and the commands.
struct Group {
    danger: Danger,
    what: &'static str,
    deeds: &'static [(&'static str, &'static str)],
}

const GROUPS: &[Group] = &[
    Group {
        danger: Danger::DestroyResources,
        what: "destroys resources of a platform",
        deeds: &[
            ("aws", "batch-delete-%"),
            ("aws", "leave-organization|deregister-%"),
            ("aws-nuke cloud-nuke", "run|aws|azure|gcp"),
            ("gcloud", "storage rm -r|--recursive|gs://%"),
            ("bq", "rm -r|-f|--recursive|--force"),
            ("eksctl kops k3d kind", "delete cluster"),
            ("flyctl fly", "apps destroy"),
            ("flyctl fly", "destroy"),
            (
                "vercel netlify wrangler",
                "remove|rm|delete|sites:delete --yes|-y|--force|-f",
            ),
            ("supabase", "db reset --linked"),
            (
                "firebase",
                "firestore:delete|database:remove|projects:delete|hosting:disable",
            ),
            ("serverless sls", "remove --stage|-s|--stage=%"),
            (
                "kubectl oc k",
                "delete namespace|namespaces|ns|node|nodes|pv|pvc|crd|project|--all|-a|--all-namespaces",
            ),
            ("kubectl oc k", "scale --all --replicas=0"),
            ("argocd", "app delete --cascade|-y|--yes"),
            ("velero", "delete --all"),
            ("docker", "swarm leave --force|-f"),
            ("docker podman", "system reset"),
            ("virsh", "undefine --remove-all-storage|--nvram"),
            ("qm pct", "destroy"),
            ("multipass", "delete --all"),
            ("consul", "kv delete -recurse"),
            ("vault", "secrets disable"),
            ("vault", "kv metadata delete"),
            ("nomad", "job stop -purge"),
            ("zkcli.sh zkcli", "deleteall|rmr"),
            ("rabbitmqctl", "reset|force_reset|delete_vhost"),
            ("npm", "unpublish --force|-f"),
            ("zfs", "destroy -r"),
            ("btrfs", "subvolume delete /|/home|/@%"),
            ("gh", "repo delete"),
        ],
    },
    Group {
        danger: Danger::DatabaseLoss,
        what: "deletes data of a database",
        deeds: &[
            ("php artisan", "artisan migrate:fresh|db:wipe --force"),
            (
                "python python3 django-admin manage.py",
                "flush|reset_db|sqlflush --no-input|--noinput",
            ),
            ("npx prisma yarn pnpm bunx", "migrate reset --force"),
            ("npx prisma yarn pnpm bunx", "db push --force-reset"),
            ("redis-cli valkey-cli keydb-cli", "flushall|flushdb"),
            ("influx", "%drop%database%|bucket delete"),
            ("cypher-shell", "%detach%delete%"),
            (
                "rails rake bin/rails bundle",
                "db:drop|db:reset|db:purge %disable_database_environment_check=1",
            ),
            ("cqlsh", "%drop%keyspace%|%truncate%"),
            ("memcached memcached-tool", "flush_all|flush"),
        ],
    },
    Group {
        danger: Danger::DiskOverwrite,
        what: "formats or erases a disk",
        deeds: &[
            ("nvme", "format|sanitize /dev/%"),
            ("sfdisk", "--delete /dev/%"),
            ("pvremove", "-f|-ff|-y /dev/%"),
            ("mdadm", "--zero-superblock"),
            ("flashrom", "-w|--write|-e|--erase"),
            ("debugfs", "-w %rm%|%kill_file%|%clri%"),
        ],
    },
    Group {
        danger: Danger::StopEverything,
        what: "ends every process of somebody, or of the machine",
        deeds: &[
            ("pkill killall", "-u root"),
            ("pkill killall", "-9|-kill|-sigkill *"),
            ("taskkill", "/f|/im *"),
            ("umount", "/"),
            ("umount", "-a -f|-l"),
        ],
    },
    Group {
        danger: Danger::DefenceOff,
        what: "switches a protection off",
        deeds: &[
            ("aa-complain aa-disable aa-teardown", ""),
            ("socketfilterfw", "--setglobalstate off"),
            (
                "launchctl",
                "unload|bootout|remove %crowdstrike%|%falcon%|%sentinel%|%jamf%|%santa%|%defender%|%sophos%|%osquery%",
            ),
            (
                "systemctl service initctl rc-service",
                "kill|stop|disable|mask %falcon%|%wazuh%|%auditd%|%clamav%|%osquery%|%fail2ban%|%sentinel%|%crowdstrike%|%defender%|%mdatp%|%sysmon%|%rsyslog%|%apparmor%|%ossec%|%elastic-agent%|%auditbeat%|%falco%|%sophos%",
            ),
            (
                "auditd falcon-sensor fail2ban apparmor iptables ufw clamav-daemon rsyslog firewalld",
                "stop",
            ),
            (
                "pkill killall kill",
                "falco|falcon%|clamd|auditd|wazuh%|%crowdstrike%|osqueryd|%sentinel%|mdatp|sysmon",
            ),
            (
                "apt apt-get yum dnf zypper apk pacman dpkg rpm",
                "remove|purge|erase|del|-r|-e|--purge|autoremove auditd|fail2ban|ufw|apparmor|selinux-policy|clamav%|falcon-sensor|wazuh-agent|osquery|aide|rkhunter|chkrootkit|mdatp|firewalld",
            ),
            (
                "aws",
                "guardduty delete-detector|update-detector --detector-id|--no-enable",
            ),
            ("aws", "cloudtrail stop-logging|delete-trail"),
            (
                "aws",
                "config stop-configuration-recorder|configservice stop-configuration-recorder",
            ),
            ("aws", "securityhub disable-security-hub"),
            ("aws", "macie2 disable-macie"),
            ("gcloud", "logging sinks delete"),
            ("az", "monitor diagnostic-settings|log-profiles delete"),
            (
                "kubectl oc k",
                "delete networkpolicy|networkpolicies|psp|validatingwebhookconfiguration|mutatingwebhookconfiguration|validatingwebhookconfigurations|mutatingwebhookconfigurations",
            ),
            ("fltmc", "unload"),
            ("mdatp", "config %disabled"),
        ],
    },
    Group {
        danger: Danger::LogWipe,
        what: "removes traces of what was done",
        deeds: &[
            ("dmesg", "-c|--clear|-c"),
            (
                "journalctl",
                "--vacuum-time=1s|--vacuum-time=0%|--vacuum-size=1|--vacuum-size=0%|--vacuum-size=1k|--vacuum-files=1|--vacuum-files=0",
            ),
            ("auditpol", "/clear"),
            ("auditpol", "/set %disable"),
            ("wevtutil", "cl|clear-log|sl"),
            ("aws", "logs delete-log-group|delete-log-stream"),
            ("touch", "-r /bin/%|/usr/bin/%|/sbin/%"),
        ],
    },
    Group {
        danger: Danger::Accounts,
        what: "grants administrator rights or takes others their access",
        deeds: &[
            ("groupdel", "sudo|wheel|root|docker|adm"),
            ("usermod", "-l root"),
            ("userdel deluser", "root"),
            ("userdel", "-r -f"),
            (
                "aws",
                "iam create-user|create-login-profile|create-access-key|update-assume-role-policy|attach-role-policy|add-user-to-group %admin%|%backdoor%|%poweruser%",
            ),
            (
                "aws",
                "iam put-user-policy|put-role-policy|put-group-policy|create-policy %\"action\":\"*\"%",
            ),
            ("aws", "s3api put-bucket-policy %\"principal\":\"*\"%"),
            ("az", "role assignment create owner"),
            ("gcloud gsutil", "add-iam-policy-binding %roles/owner|%allusers%"),
            (
                "aws",
                "authorize-security-group-ingress 0.0.0.0/0|%0.0.0.0/0%|::/0 all|-1|%ipprotocol=-1%|22|3389",
            ),
            ("gsutil", "iam|acl ch %allusers%"),
            ("net", "user administrator /active:yes"),
            ("runas", "/user:administrator"),
            ("visudo", "-f /dev/%|/tmp/%"),
            ("capsh", "--uid=0"),
            ("install", "-m 4???|6???|u+s|u=rwxs%"),
            ("install", "-m4???|-m6???|--mode=4???|--mode=6???"),
        ],
    },
    Group {
        danger: Danger::CredentialRead,
        what: "shows stored credentials",
        deeds: &[
            ("getent", "shadow|gshadow"),
            ("gpg gpg2", "--export-secret-keys|--export-secret-subkeys"),
            ("ntdsutil", "%ifm%|%ntds%"),
            ("vssadmin", "create shadow"),
            ("cmdkey", "/list"),
            ("netsh", "wlan key=clear"),
            ("gcore procdump procdump64", "lsass|lsass.exe|1"),
            ("debugfs", "%cat%/etc/shadow%|%dump%/etc/shadow%"),
        ],
    },
    Group {
        danger: Danger::ContainerEscape,
        what: "gives a container the rights or the files of its host",
        deeds: &[
            (
                "docker podman nerdctl",
                "run|create --device=/dev/sd%|--device=/dev/nvme%|--device=/dev/mem|--device=/dev/kmem|--device=/dev/vd%",
            ),
            (
                "docker podman nerdctl",
                "run|create --security-opt|--security-opt=% apparmor=unconfined|seccomp=unconfined|apparmor:unconfined|%seccomp=unconfined|%apparmor=unconfined",
            ),
            (
                "docker podman nerdctl",
                "run|create|exec --cap-add|--cap-add=% sys_admin|all|sys_module|dac_read_search|%sys_admin|%=all|%sys_module",
            ),
            (
                "docker podman nerdctl",
                "run|create --userns=host|--pid=host|--privileged=true",
            ),
            ("docker podman nerdctl", "run|create --pid|--userns host"),
            (
                "kubectl oc k",
                "run|apply|create|patch %\"privileged\":true%|%\"privileged\": true%|%\"hostpid\":true%|%\"hostpath\":%|--privileged|--privileged=true",
            ),
        ],
    },
    Group {
        danger: Danger::PlantedLibrary,
        what: "loads code into the kernel from a directory that everybody may write",
        deeds: &[("insmod kextload", "/tmp/%|/dev/shm/%|/var/tmp/%|%rootkit%")],
    },
    Group {
        danger: Danger::Persistence,
        what: "installs something that runs at boot, at login or on a timer",
        deeds: &[
            (
                "systemd-run",
                "--on-calendar%|--on-boot%|--on-unit-active%|--on-active%",
            ),
            ("sysctl", "kernel.core_pattern=%|kernel.modprobe=%"),
            ("osascript", "%make%login%item%"),
            ("sc", "create binpath=|binpath=%"),
            ("sc", "config binpath=|binpath=%"),
            ("copy xcopy move robocopy", "%start%menu\\programs\\startup%"),
            ("redis-cli valkey-cli redis", "config set dir %ssh%|%cron%|%www%|/etc%"),
        ],
    },
    Group {
        danger: Danger::ReverseShell,
        what: "hands a terminal to another machine",
        deeds: &[("xterm", "-display")],
    },
    Group {
        danger: Danger::Keylogger,
        what: "records what is typed",
        deeds: &[
            ("logkeys", "--start|-s"),
            ("showkey", ""),
            ("xinput", "test|test-xi2"),
            ("cat tee dd xxd hexdump evtest", "/dev/input/event%|if=/dev/input/%"),
        ],
    },
    Group {
        danger: Danger::DeleteSystem,
        what: "removes a part that the system cannot run without",
        deeds: &[
            (
                "apt apt-get aptitude",
                "remove|purge|autoremove|--purge libc6|systemd|bash|coreutils|dpkg|apt|linux-image%|sudo|libc-bin|init|python3|login|grub%|openssh-server|network-manager",
            ),
            (
                "yum dnf zypper",
                "remove|erase|rm|autoremove glibc|systemd|bash|coreutils|rpm|yum|dnf|kernel|sudo|python3|openssh-server",
            ),
            ("apk", "del musl|busybox|alpine-baselayout|apk-tools"),
            ("rpm", "-e --nodeps"),
            (
                "dpkg",
                "--purge|--remove|-r|-p --force-all|--force-remove-essential|--force-depends",
            ),
            ("pacman", "-rdd|-rdds|-rnsdd|-rddn"),
            ("pacman", "-r%|--remove glibc|systemd|bash|linux|pacman|coreutils"),
            ("mount", "-o %remount,ro% /"),
            ("setfacl", "-r|--recursive /|/etc|/usr|/bin"),
            ("chattr", "+i|-i /etc/passwd|/etc/shadow|/etc|/"),
            ("ip", "link set down eth%|ens%|enp%|eno%|wlan%"),
            ("ifconfig", "down eth%|ens%|enp%|eno%|en0|wlan%"),
            (
                "systemctl service",
                "stop|disable|mask networking|networkmanager|network|systemd-networkd|sshd|ssh|dbus|systemd-logind|networking.service|sshd.service|ssh.service",
            ),
            ("efibootmgr", "-b|--delete-bootnum|--delete-bootnum -b"),
            ("grub-install", "--force"),
            ("ipmitool", "power off|reset|cycle"),
            (
                "zip 7z",
                "-rm|-mr|-sdel|-rmp|-rmx|-mrp /etc|/home|/usr|/var|/etc/%|/home/%|~|~/%|/",
            ),
            (
                "tar gtar bsdtar",
                "--remove-files /|/etc|/home|/usr|/var|~|/etc/%|/home/%|~/%",
            ),
        ],
    },
];

/// One line of the table, taken apart.
struct Deed {
    danger: Danger,
    what: &'static str,
    words: Vec<Vec<&'static str>>,
}

static DEEDS: LazyLock<HashMap<&'static str, Vec<Deed>>> = LazyLock::new(|| {
    let mut deeds: HashMap<&'static str, Vec<Deed>> = HashMap::new();
    for group in GROUPS {
        for (programs, words) in group.deeds {
            for program in programs.split_whitespace() {
                deeds.entry(program).or_default().push(Deed {
                    danger: group.danger,
                    what: group.what,
                    words: words.split_whitespace().map(|word| word.split('|').collect()).collect(),
                });
            }
        }
    }
    deeds
});

/// Looks at one call.
pub(super) fn look(call: &Call, seen: &mut Seen) {
    let Some(deeds) = DEEDS.get(call.program.as_str()) else {
        return;
    };
    let args: Vec<String> = call
        .args
        .iter()
        .map(|word| {
            let mut text = word.text.to_ascii_lowercase();
            // In documents of policies blanks mean nothing.
            if text.starts_with('{') {
                text.retain(|c| !c.is_whitespace());
            }
            text
        })
        .collect();
    if args
        .iter()
        .any(|arg| matches!(arg.as_str(), "--help" | "--dry-run" | "--dry-run=client" | "--version"))
    {
        return;
    }
    let all_throwaways = names_only_throwaways(call);
    for deed in deeds
        .iter()
        .filter(|deed| !(all_throwaways && matches!(deed.danger, Danger::DestroyResources | Danger::DatabaseLoss)))
    {
        let is_among = |pattern: &&str| args.iter().any(|arg| fits(pattern, arg));
        if deed.words.iter().all(|patterns| patterns.iter().any(is_among)) {
            seen.add(deed.danger, call, deed.what);
        }
    }
}

/// Whether an argument is what a pattern of the table means.
fn fits(pattern: &str, arg: &str) -> bool {
    match (pattern.strip_prefix('%'), pattern.strip_suffix('%')) {
        (Some(_), Some(_)) => {
            let mut rest = arg;
            pattern
                .split('%')
                .filter(|part| !part.is_empty())
                .all(|part| match rest.split_once(part) {
                    Some((_, after)) => {
                        rest = after;
                        true
                    }
                    None => false,
                })
        }
        (Some(end), None) => arg.ends_with(end),
        (None, Some(start)) => arg.starts_with(start),
        (None, None) if pattern.contains('?') => {
            arg.len() == pattern.len()
                && pattern
                    .bytes()
                    .zip(arg.bytes())
                    .all(|(p, b)| p == b || p == b'?' && b.is_ascii_digit())
        }
        (None, None) if pattern.len() == 2 && pattern.starts_with('-') => {
            arg.strip_prefix('-').is_some_and(|flags| {
                !flags.starts_with('-')
                    && flags.len() <= 4
                    && flags.chars().all(|c| c.is_ascii_alphabetic())
                    && pattern.ends_with(|flag| flags.contains(flag))
            }) || arg == pattern
        }
        (None, None) => arg == pattern,
    }
}

#[cfg(test)]
mod tests;
