//! Statements that a statement carries as text and has run: `EXECUTE IMMEDIATE '…'`, `EXEC('…' + '…')`, `PREPARE s FROM '…'`,
//! `dblink('…', '…')`.

use crate::prefilter::words::sql_dynamic::RUN;

/// The longest text that is searched for statements.
const MAX_LEN: usize = 32 * 1024;
/// Statements that are put together from one text.
const MAX: usize = 8;

/// The texts that would be run, where the statement runs any; literals that are joined are one text.
pub(super) fn embedded_statements(bare: &str, blank: &str) -> Vec<String> {
    if bare.len() > MAX_LEN || !RUN.iter().any(|word| blank.contains(word)) {
        return Vec::new();
    }
    let mut texts: Vec<String> = Vec::new();
    let mut rest = bare;
    let mut goes_on = false;
    // Of what goes to another server each literal is an argument.
    let is_sent = blank.contains("dblink") || blank.contains("openquery");
    while let Some((before, behind)) = rest.split_once('\'') {
        let joins = before.trim().trim_end_matches(['N', 'n', 'E', 'e']).trim();
        let glued = goes_on && (matches!(joins, "+" | "||") || joins == "," && !is_sent);
        let mut text = String::new();
        rest = behind;
        // A doubled quote is one of the text's own.
        while let Some((part, after)) = rest.split_once('\'') {
            text.push_str(part);
            rest = after;
            match rest.strip_prefix('\'') {
                Some(after) => {
                    text.push('\'');
                    rest = after;
                }
                None => break,
            }
        }
        let room = texts.len() < MAX;
        match texts.last_mut() {
            Some(last) if glued => last.push_str(&text),
            _ if room => texts.push(text),
            _ => break,
        }
        goes_on = true;
    }
    texts
}

#[cfg(test)]
mod tests;
