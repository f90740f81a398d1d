//! The check that a template cannot build strings without bound.
//!
//! Fuel bounds the instructions that a template takes, and its output is bounded in bytes. Neither bounds the strings in between: a string that is
//! doubled 34 times takes 34 instructions and 16 GiB. So operators that make longer strings of strings, and blocks that capture what is written in
//! them, are refused when templates are read; filters and functions that repeat are not there.

use crate::policy::did_you_mean;

/// The words that a statement may begin with.
const STATEMENTS: &[&str] = &[
    "if", "elif", "else", "endif", "for", "endfor", "include", "with", "endwith", "raw", "endraw", "set", "block",
    "endblock", "extends",
];

/// Refuses a template that could build strings without bound; returns the line and the error there.
pub(super) fn refuse(source: &str) -> Result<(), (usize, String)> {
    let mut at = 0;
    while let Some(tag) = next_tag(source, at) {
        let line = source.get(..tag.start).unwrap_or_default().matches('\n').count() + 1;
        check(&tag).map_err(|what| (line, what))?;
        at = tag.end;
        if tag.is_statement && tag.plain.split_whitespace().next() == Some("raw") {
            let rest = source.get(at..).unwrap_or_default();
            at += rest.find("endraw").unwrap_or(rest.len());
        }
    }
    Ok(())
}

/// A tag of a template.
pub(super) struct Tag {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_statement: bool,
    /// Its text, without the literals.
    pub(super) plain: String,
}

/// Finds the next expression or statement from here on; comments are passed over.
pub(super) fn next_tag(source: &str, from: usize) -> Option<Tag> {
    let mut at = from;
    loop {
        let start = at + source.get(at..)?.find('{')?;
        let rest = source.get(start..)?;
        let (close, is_statement) = match rest.get(..2) {
            Some("{{") => ("}}", false),
            Some("{%") => ("%}", true),
            Some("{#") => {
                at = start + rest.find("#}").map_or(rest.len(), |end| end + 2);
                continue;
            }
            _ => {
                at = start + 1;
                continue;
            }
        };
        let (plain, length) = without_literals(rest.get(2..)?, close);
        return Some(Tag {
            start,
            end: start + 2 + length,
            is_statement,
            plain: plain.trim_matches(['-', '+']).trim().to_owned(),
        });
    }
}

/// Returns the text before the closing mark, without literals; and its length with the mark.
fn without_literals(text: &str, close: &str) -> (String, usize) {
    let (mut plain, mut quote, mut escaped) = (String::new(), None, false);
    for (at, c) in text.char_indices() {
        match quote {
            Some(mark) => {
                if c == mark && !escaped {
                    quote = None;
                }
                escaped = c == '\\' && !escaped;
            }
            None if text.get(at..).is_some_and(|rest| rest.starts_with(close)) => return (plain, at + close.len()),
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None => plain.push(c),
        }
    }
    (plain, text.len())
}

fn check(tag: &Tag) -> Result<(), String> {
    if let Some(operator) = tag.plain.chars().find(|c| matches!(c, '~' | '*' | '+')) {
        return Err(format!(
            "`{operator}` builds strings that nothing bounds, and is not available"
        ));
    }
    // `self.name()` writes a block into a string, and blocks of such strings double it.
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if tag.plain.split(|c| !is_name(c)).any(|word| word == "self") {
        return Err("`self` builds strings that nothing bounds, and is not available".to_owned());
    }
    let statement = tag.plain.split_whitespace().next().unwrap_or_default();
    if !tag.is_statement {
        return Ok(());
    }
    if !STATEMENTS.contains(&statement) || (statement == "set" && !tag.plain.contains('=')) {
        return Err(format!(
            "`{statement}` is not available, as it may build strings that nothing bounds: there are {}{}",
            STATEMENTS.join(", "),
            did_you_mean(statement, STATEMENTS.iter().copied())
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::refuse;

    #[test]
    fn what_builds_strings_is_refused_with_its_line() {
        for (source, what) in [
            ("{% set a = a ~ a %}", "`~`"),
            ("text\n{{ a * 9999999 }}", "`*`"),
            ("{{- a + a -}}", "`+`"),
            ("{% set a %}{{ b }}{{ b }}{% endset %}", "`set`"),
            ("{% macro f(s) %}{{ s }}{% endmacro %}", "`macro`"),
            ("{%- filter upper %}x{% endfilter %}", "`filter`"),
            ("{% call f() %}x{% endcall %}", "`call`"),
            ("{% block a %}{% endblok %}", "did you mean `endblock`?"),
            (
                "{% block a %}{% set x = self.b() %}{{ x }}{{ x }}{% endblock %}",
                "`self`",
            ),
            ("{# ~ #}{% raw %}{{ a ~ a }}{% endraw %}{{ 'x' ~ a }}", "`~`"),
            ("{{ \"}}\" ~ a }}", "`~`"),
            ("{{ 'it\\'s' ~ a }}", "`~`"),
        ] {
            let (line, said) = refuse(source).unwrap_err();
            assert!(said.contains(what), "{source}: {said}");
            assert_eq!(line, source.split("{{ a * ").next().unwrap().matches('\n').count() + 1);
        }
    }

    #[test]
    fn what_bounds_itself_passes() {
        for source in [
            "{% if a and not b -%} ~ * + {%- else %}{{ a.b[0] | length }}{% endif %}",
            "{% for x in list %}{{ x }}: {{ '~*+' }}{% endfor %}{% include \"_step.md.j2\" %}",
            "{# a ~ b #}{% set x = y %}{ } {{ x }} {",
            "{% raw %}{{ a ~ a }}{% endraw %}",
            "{{ unfinished",
        ] {
            refuse(source).unwrap();
        }
    }
}
