use super::super::look_at_shell;
use super::*;

fn is_told(command: &str) -> bool {
    let mut seen = Dangers::default();
    look_at_shell(command, &mut seen, &mut Vec::new());
    seen.found.iter().any(|(danger, _)| *danger == Danger::RootShell)
}

#[test]
fn shells_out_of_programs_that_run_as_root_are_told() {
    for command in [
        r"sudo find /srv -maxdepth 1 -exec /bin/bash \; -quit",
        "sudo vi -c ':!/bin/sh' /dev/null",
        "sudo -n awk 'BEGIN {system(\"/bin/dash\")}'",
        "sudo -u root tar cf /dev/null x --checkpoint=1 --checkpoint-action=exec=/bin/sh",
        "doas python3 -c 'import pty; pty.spawn(\"/bin/sh\")'",
        "sudo perl -e 'exec \"/bin/sh\";'",
        "sudo lua -e 'os.execute(\"/bin/sh\")'",
        "sudo env /bin/sh",
        "sudo sh -c 'timeout 1d bash'",
        "sudo socat - exec:/bin/sh",
        "printf '!/bin/sh\\n' | sudo less /var/log/syslog",
        r"find . -maxdepth 0 -exec /bin/sh -p \;",
        "sudo apt-get update -o APT::Update::Pre-Invoke::=/bin/sh",
        "sudo vim -c ':set shell=/bin/sh' -c ':shell'",
    ] {
        assert!(is_told(command), "{command}");
    }
}

#[test]
fn asked_for_shells_and_shells_elsewhere_are_not() {
    for command in [
        "sudo -i",
        "sudo bash",
        "sudo bash deploy.sh",
        "sudo sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'",
        "sudo -u postgres env bash",
        "sudo docker exec -it web bash",
        "sudo chroot /mnt/target /bin/bash",
        "sudo find . -name '*.sh' -exec bash {} \\;",
        "find . -maxdepth 1 -exec sh -c 'echo \"$1\"' _ {} \\;",
        "sudo python3 -c 'import subprocess; subprocess.run([\"sh\", \"-c\", \"date\"])'",
        "sudo vim /etc/hosts",
        "env bash",
    ] {
        assert!(!is_told(command), "{command}");
    }
}
