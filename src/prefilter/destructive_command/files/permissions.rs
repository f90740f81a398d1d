//! Files that calls open to everyone: permissions and owners.

use crate::prefilter::destructive_command::{Danger, Dangers};
use crate::prefilter::locations::{Breadth, Location};
use crate::shell::Call;

/// Looks at a call that changes permissions or owners.
pub(super) fn permissions(call: &Call, seen: &mut Dangers) {
    let recursive = call.has_short(&['R']) || call.has("--recursive");
    let mut operands = call.args.iter().filter(|word| {
        !word.text.starts_with("--")
            && !matches!(
                word.text.as_str(),
                "-R" | "-v" | "-f" | "-c" | "-h" | "-Rf" | "-fR" | "-Rv"
            )
    });
    let mode = operands.next().map_or("", |word| word.text.as_str());
    let is_mode = call.program == "chmod";
    let of_owner = |part: &str| {
        part.split_once(['+', '='])
            .is_some_and(|(who, rights)| rights.contains('s') && (who.is_empty() || who.contains(['u', 'a'])))
    };
    let setuid = is_mode
        && (mode.split(',').any(of_owner)
            || matches!(mode.trim_start_matches('0').as_bytes(), [b'4' | b'6', rest @ ..] if rest.len() == 3 && rest.iter().all(u8::is_ascii_digit)));
    let open = is_mode
        && (mode.bytes().all(|byte| byte == b'0') && !mode.is_empty()
            || mode.ends_with('7') && mode.len() >= 3
            || mode.ends_with('6') && mode.len() >= 3
            || matches!(mode, "a+rwx" | "a+w" | "o+w" | "ugo+rwx" | "+w" | "o+rwx"));
    for word in operands {
        let location = Location::of(&word.text);
        let breadth = location.breadth();
        if setuid && !recursive {
            seen.add(Danger::Setuid, call);
        }
        match breadth {
            Breadth::Everything => seen.add(Danger::OpenPermissions, call),
            Breadth::SystemDirectory
                if recursive
                    && (open || !is_mode)
                    && !location.as_str().starts_with("/opt")
                    && !location.as_str().starts_with("/srv")
                    && location.as_str() != "/usr/local" =>
            {
                seen.add(Danger::OpenPermissions, call);
            }
            Breadth::SystemFile if open && location.as_str().starts_with("/etc/") => {
                seen.add(Danger::OpenPermissions, call);
            }
            Breadth::Home
            | Breadth::SystemDirectory
            | Breadth::SystemFile
            | Breadth::Surroundings
            | Breadth::Disposable
            | Breadth::Other => {}
        }
    }
}
