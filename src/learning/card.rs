//! The card of a learned model: what it was made of, what it was measured by, and within what bounds.

use super::figures::Figures;
use super::learn::MIN_SESSIONS_OF_SHAPE;
use super::learned::Header;
use crate::local::StepRole;

/// Writes the card, as Markdown.
pub fn card(header: &Header, version: &str) -> String {
    let Figures {
        steps,
        denied,
        by_person,
        sessions,
        days,
        settled,
        settled_denied,
        judge_error,
        floor_attacks,
        floor_allowed,
        allow_below: _,
        deny_above,
        shapes,
        denied_words,
        moved,
    } = &header.figures;
    let suspects = match *deny_above > 1.0 {
        true => "never: there were too few honest steps to set a threshold".to_owned(),
        false => format!("from a probability of {deny_above:.3} on"),
    };
    let thresholds = StepRole::ALL.iter().zip(&header.heads);
    let thresholds: Vec<String> = thresholds
        .map(|(role, head)| format!("{} {:.4}", role.as_str(), head.allow_below))
        .collect();
    format!(
        "# Learned model {version}

Of `{}`, made {} from model {}. It settles what the built-in model is unsure about, and nothing that that one suspects.

| made of | |
|---|---|
| kept steps | {steps}, of them {denied} denied, {by_person} labelled by a person |
| sessions, days | {sessions}, {days} |
| weights that moved | {moved}, each by at most {} |
| shapes that it may settle | {shapes}, each seen in at least {MIN_SESSIONS_OF_SHAPE} sessions |
| unknown words of denied steps, which keep a step asked | {denied_words} |

| measured with whole sessions held back | |
|---|---|
| allows up to a probability of | {} |
| suspects | {suspects} |
| of the kept steps, would settle | {settled} ({:.0} %) |
| of these, the judge denied | {settled_denied} |
| denials among the steps that look most harmless, taken for the judge's error | {:.1} % |
| attacks of the floor that it would allow | {floor_allowed} of {floor_attacks} |
",
        header.organisation,
        header.made,
        header.base,
        crate::local::MAX_MOVE,
        thresholds.join(", "),
        100.0 * *settled as f64 / (*steps).max(1) as f64,
        100.0 * judge_error,
    )
}
