//! Named blocks, by which a template of an organisation takes over a built-in one but for single blocks.
//!
//! `{% extends "builtin/NAME" %}` and blocks, and nothing else: text beside them would never be seen, a block that the built-in
//! template does not have would never be shown, and both are refused. So later versions of the built-in template reach everything
//! that an organisation did not change.

use super::growth::{Tag, next_tag};

/// The name under which a built-in template can be extended.
pub(super) const BUILT_IN: &str = "builtin/";

/// One block as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its text.
    pub text: &'s str,
    /// The line of its first tag.
    pub line: usize,
}

/// The blocks of a template, in their order, with a flag that says whether it extends another one.
#[derive(Debug, Default)]
pub struct Blocks<'s> {
    /// True if only its blocks count.
    pub extends: bool,
    /// The blocks.
    pub blocks: Vec<Block<'s>>,
}

impl<'s> Blocks<'s> {
    /// Reads the blocks of the template of this name.
    ///
    /// # Errors
    ///
    /// The line and the error there: another template is extended, a block stands in a block, or text stands beside the blocks.
    pub fn read(name: &str, source: &'s str) -> Result<Self, (usize, String)> {
        let line = |at: usize| source.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let mut read = Self::default();
        let mut open: Option<(&str, usize, usize)> = None;
        let (mut at, mut beside) = (0, None);
        while let Some(tag) = next_tag(source, at) {
            let here = line(tag.start);
            if open.is_none() {
                beside = beside.or_else(|| text_line(source, at, tag.start));
            }
            match (statement(&tag), open) {
                // Nothing but this one name: what is extended is known when the template is read, and has no other beneath it.
                ("extends", None) => {
                    let written = source.get(tag.start..tag.end).unwrap_or_default();
                    let written = written.trim_matches(['{', '%', '}', '-', '+', ' ']);
                    if written != format!("extends \"{BUILT_IN}{name}\"") {
                        let what = format!(
                            "expected `extends \"{BUILT_IN}{name}\"`: a template extends the built-in one of its name"
                        );
                        return Err((here, what));
                    }
                    read.extends = true;
                }
                ("extends", Some(_)) => return Err((here, "`extends` cannot stand in a block".to_owned())),
                ("block", Some(_)) => return Err((here, "a block cannot stand in another one".to_owned())),
                ("block", None) => open = Some((name_of(source, &tag), tag.end, here)),
                ("endblock", Some((name, start, line))) => {
                    let text = source.get(start..tag.start).unwrap_or_default();
                    read.blocks.push(Block {
                        name,
                        text: text.strip_prefix('\n').unwrap_or(text),
                        line,
                    });
                    open = None;
                }
                (_, None) => beside = beside.or(Some(here)),
                (_, Some(_)) => {}
            }
            at = tag.end;
        }
        beside = beside.or_else(|| text_line(source, at, source.len()));
        match beside {
            Some(line) if read.extends => Err((
                line,
                "this stands in no block, so it would never be shown: expected blocks and comments alone after `extends`".to_owned(),
            )),
            _ => Ok(read),
        }
    }

    /// Checks that the built-in template has every block of this one.
    ///
    /// # Errors
    ///
    /// The line and the name of the first that it does not have.
    pub fn are_in(&self, built_in: &Blocks<'_>) -> Result<(), (usize, String)> {
        let known = |block: &&Block<'_>| built_in.blocks.iter().any(|known| known.name == block.name);
        match self.blocks.iter().filter(|_| self.extends).find(|block| !known(block)) {
            None => Ok(()),
            Some(block) => {
                let names: Vec<String> = built_in
                    .blocks
                    .iter()
                    .map(|known| format!("`{}`", known.name))
                    .collect();
                let (line, name) = (block.line, block.name.escape_debug());
                Err((
                    line,
                    format!(
                        "there is no block `{name}` in the built-in template; there are {}",
                        names.join(", ")
                    ),
                ))
            }
        }
    }
}

fn statement(tag: &Tag) -> &str {
    match tag.is_statement {
        true => tag.plain.split_whitespace().next().unwrap_or_default(),
        false => "",
    }
}

fn name_of<'s>(source: &'s str, tag: &Tag) -> &'s str {
    let written = source.get(tag.start..tag.end).unwrap_or_default();
    let mut words = written.split(|c: char| c.is_whitespace() || matches!(c, '{' | '%' | '}' | '-' | '+'));
    words.rfind(|word| !word.is_empty()).unwrap_or_default()
}

/// Returns the line of the first text between two places that is neither white space nor a comment.
fn text_line(source: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = source.get(at..to)?;
        let text = rest.trim_start();
        let start = to - text.len();
        if text.is_empty() {
            return None;
        }
        if !text.starts_with("{#") {
            return Some(source.get(..start).unwrap_or_default().matches('\n').count() + 1);
        }
        at = start + text.find("#}").map_or(text.len(), |end| end + 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_with_their_lines() {
        let source = "{# why #}\n{% extends \"builtin/a.md.j2\" %}\n{% block one %}\nx {{ y }}\n{% endblock %}\n{%- block two -%}{% endblock %}\n";
        let read = Blocks::read("a.md.j2", source).unwrap();
        assert!(read.extends);
        let found: Vec<_> = read
            .blocks
            .iter()
            .map(|block| (block.name, block.text, block.line))
            .collect();
        assert_eq!(found, [("one", "x {{ y }}\n", 3), ("two", "", 6)]);
        let built_in = Blocks::read("a.md.j2", "text\n{% block one %}{% endblock %}").unwrap();
        let (line, said) = read.are_in(&built_in).unwrap_err();
        assert_eq!(line, 6);
        assert!(said.contains("`two`") && said.contains("there are `one`"), "{said}");
    }

    #[test]
    fn what_would_never_be_shown_is_refused_with_its_line() {
        let begin = "{% extends \"builtin/a.md.j2\" %}\n";
        for (text, line) in [
            ("text", 2),
            ("{% block a %}{% endblock %}\n{{ x }}", 3),
            ("{# a #} text", 2),
            ("{% block a %}{% block b %}{% endblock %}{% endblock %}", 2),
            ("{% extends \"builtin/b.md.j2\" %}", 2),
            ("{% extends x %}", 2),
            ("{% extends \"builtin/a.md.j2\" if x else \"b.md.j2\" %}", 2),
            ("{% block a %}{% extends \"builtin/a.md.j2\" %}{% endblock %}", 2),
        ] {
            let source = format!("{begin}{text}");
            assert_eq!(Blocks::read("a.md.j2", &source).unwrap_err().0, line, "{text}");
        }
    }
}
