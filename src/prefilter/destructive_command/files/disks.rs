//! The effects of calls on whole disks and pools of them.

use crate::prefilter::destructive_command::{Danger, Dangers};
use crate::prefilter::locations::Location;
use crate::shell::{Call, Stdin};

/// Looks at a call of a program that formats or erases disks.
pub(super) fn disk_tool(call: &Call, seen: &mut Dangers) {
    let destroys = match call.program.as_str() {
        "cryptsetup" => call.has_any(&["luksFormat", "luksErase", "erase"]),
        "hdparm" => call.args.iter().any(|word| word.text.starts_with("--security-erase")),
        "badblocks" => call.has_short(&['w']),
        // What it is to do comes in.
        "fdisk" | "gdisk" | "sfdisk" => !matches!(call.stdin, Stdin::Unknown) && !call.has_short(&['l', 'd']),
        "sgdisk" => call.has("--zap-all") || call.has("-Z") || call.has("-o"),
        "parted" => call.has_any(&["mklabel", "rm", "mktable"]),
        "diskutil" => call
            .args
            .iter()
            .any(|word| word.text.to_ascii_lowercase().starts_with("erase")),
        _ => true,
    };
    let disk = call.args.iter().any(|word| {
        Location::of(&word.text).is_disk() || (call.program == "diskutil" && word.text.starts_with("disk"))
    });
    if destroys && disk {
        seen.add(Danger::DiskOverwrite, call);
    }
}

/// Looks at a call of a program that manages pools of disks.
pub(super) fn storage_pool(call: &Call, seen: &mut Dangers) {
    let destroys = match call.program.as_str() {
        "zpool" => call.has("destroy"),
        "lvremove" | "vgremove" => call.operands().next().is_some(),
        _ => matches!(&call.stdin, Stdin::Text(text) if text.contains("clean")),
    };
    if destroys {
        seen.add(Danger::DiskOverwrite, call);
    }
}
