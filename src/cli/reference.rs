//! A reference file as it is read, and as Markdown: what stands in its comments, as a table for each section.

use std::fmt::Write;

/// One section of a reference file.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// Its header, such as `[judge]`; empty at the top.
    pub(super) name: String,
    /// Its introduction.
    pub(super) intro: String,
    pub(super) keys: Vec<Key>,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    /// A default or an example, as TOML.
    pub(super) value: String,
    pub(super) meaning: String,
}

/// Returns the documentation that a reference file is: `title` and `before` stand before its tables.
///
/// A line `#key = value` shows a default or an example, comments before it say what it means, a header begins a section.
pub(super) fn markdown(title: &str, before: &str, reference: &str) -> String {
    let mut text = format!("# {title}\n\n{before}\n");
    for section in sections(reference) {
        if !section.name.is_empty() {
            let _ = writeln!(text, "\n## `{}`", section.name);
        }
        if !section.intro.is_empty() {
            let _ = writeln!(text, "\n{}", section.intro);
        }
        if !section.keys.is_empty() {
            text.push_str("\n| key | default, or an example | meaning |\n|---|---|---|\n");
        }
        for key in section.keys {
            let value = cell(&key.value);
            let _ = writeln!(text, "| `{}` | `{value}` | {} |", key.name, cell(&key.meaning));
        }
    }
    text
}

/// Returns the sections of a reference file, with what its comments say of each and of its keys.
pub(super) fn sections(reference: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut said = String::new();
    let mut open: Option<String> = None;
    for line in reference.lines() {
        let shown = line
            .strip_prefix('#')
            .filter(|rest| !rest.starts_with(' '))
            .unwrap_or(line);
        let Some(section) = sections.last_mut() else { break };
        // A value over several lines.
        if let Some(end) = open.clone() {
            if let Some(key) = section.keys.last_mut() {
                key.value.push(' ');
                key.value.push_str(shown.trim());
            }
            if shown.trim_end().ends_with(end.as_str()) {
                open = None;
            }
            continue;
        }
        if let Some(comment) = line.strip_prefix("# ") {
            said.push_str(if said.is_empty() { "" } else { " " });
            said.push_str(comment.trim());
        } else if shown.starts_with('[') && shown.trim_end().ends_with(']') {
            sections.push(Section {
                name: shown.trim().to_owned(),
                intro: std::mem::take(&mut said),
                keys: Vec::new(),
            });
        } else if let Some((name, value)) = shown.split_once('=').filter(|_| !shown.trim().is_empty()) {
            let value = value.trim();
            open = ["\"\"\"", "'''"]
                .into_iter()
                .find(|quote| value.starts_with(quote) && (value.len() < 6 || !value.ends_with(quote)))
                .map(str::to_owned);
            section.keys.push(Key {
                name: name.trim().to_owned(),
                value: value.to_owned(),
                meaning: std::mem::take(&mut said),
            });
        } else if line.trim().is_empty() && !said.is_empty() && section.keys.is_empty() {
            section.intro.push_str(if section.intro.is_empty() { "" } else { " " });
            section.intro.push_str(&std::mem::take(&mut said));
        }
    }
    sections
}

/// Returns a text as it may stand in the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_their_sections_with_what_was_said_before_them() {
        let reference = "# The file.\n\n# Where to listen.\n#listen = \"a\"\n\n# The judge.\n#[judge]\n# Its place | address.\n#url = \"u\"\n#model = \"m\"\n";
        let text = markdown("T", "B", reference);
        assert_eq!(
            text,
            "# T\n\nB\n\nThe file.\n\n| key | default, or an example | meaning |\n|---|---|---|\n| `listen` | `\"a\"` | Where to listen. |\n\
             \n## `[judge]`\n\nThe judge.\n\n| key | default, or an example | meaning |\n|---|---|---|\n\
             | `url` | `\"u\"` | Its place \\| address. |\n| `model` | `\"m\"` |  |\n"
        );
    }

    #[test]
    fn every_key_of_the_references_is_in_a_table() {
        for reference in [crate::config::REFERENCE, crate::policy::REFERENCE] {
            let text = markdown("T", "B", reference);
            let keys = reference
                .lines()
                .filter(|line| line.starts_with('#') && !line.starts_with("# ") && line.contains(" = "));
            for line in keys {
                let name = line.trim_start_matches('#').split('=').next().unwrap().trim();
                assert!(text.contains(&format!("| `{name}` |")), "{line}");
            }
        }
    }
}
