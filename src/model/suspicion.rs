//! A suspicion: a finding for which a step is denied as long as no model says why it does not hold.

/// The finding for which the guardian alone would deny a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// The rule of the finding, `family.rule`.
    pub rule: String,
    /// The reason to suspect the step, in one clause. It quotes nothing of the step.
    pub why: String,
}

impl Suspicion {
    /// Returns `true` if a reasoning names the finding: the whole name of its rule, or the part behind the dot.
    pub fn is_named_in(&self, reasoning: &str) -> bool {
        let name = self.rule.rsplit('.').next().unwrap_or(&self.rule);
        let reasoning = reasoning.to_ascii_lowercase();
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        reasoning.match_indices(&name.to_ascii_lowercase()).any(|(at, found)| {
            let before = reasoning.get(..at).and_then(|text| text.chars().next_back());
            let after = reasoning.get(at + found.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(in_name) && !after.is_some_and(in_name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reasoning_names_a_finding_by_its_whole_name_or_the_part_behind_the_dot() {
        let suspicion = Suspicion {
            rule: "session.follows_instruction".to_owned(),
            why: String::new(),
        };
        for named in [
            "`session.follows_instruction` does not hold: r1 asks for it.",
            "Follows_instruction is wrong here.",
        ] {
            assert!(suspicion.is_named_in(named), "{named}");
        }
        for other in [
            "",
            "It follows instruction r1.",
            "session.follows_instructions_of",
            "xfollows_instruction",
        ] {
            assert!(!suspicion.is_named_in(other), "{other}");
        }
    }
}
