//! The test for SQL: by the name of the argument, or by how a text begins.

use super::bare::without_comments;
use crate::model::head;
use crate::prefilter::words::sql_recognised::SQL_LABELS;
use crate::text::expression::expressions;
use crate::tools::Field;

expressions! {
    /// The beginnings of statements. Prose begins with the same words: `drop me a line`, `select a seat`, `update the address`.
    static START = concat!(
        r"^(?:select (?:.* from |.*\(|[\d*'])|insert into|update .* set |delete from|truncate table |(?:grant|revoke) .*(?: on | to )",
        r"|drop (?:table|database|schema|view|index|user|role|column|function|owned by|keyspace|all objects)",
        r"|alter (?:table|user|role|database|system|schema)|create (?:table|temp|user|role|extension|or replace)|with .* as ?\(",
        r"|copy .*(?: from .*(?:program|stdin|')| to '| to program)|exec(?:ute)? (?:immediate '|xp_|sp_|master)|exec(?:ute)?\( ?['@n]",
        r"|prepare .*(?: from | as )|(?:set|declare) @(?:.*;.*(?:=| as )|.*(?:=| as ).*;)|do \$\$|merge into|replace into|begin;",
        r"|begin transaction|attach database|load data|union select|explain (?:select|analyze|update|delete))",
    );
    /// Their beginnings where the argument is asked of a database.
    static ASKED = r"^(?:truncate|exec|execute) ";
    /// Their beginnings where the tool is a database.
    static TOLD = r"^delete (?:\S+ $|top ?\(? |\S+ from )";
}

/// Returns `true` if an argument of this name holds SQL.
pub(super) fn is_sql_label(label: &str) -> bool {
    SQL_LABELS.iter().any(|known| known.eq_ignore_ascii_case(label))
}

pub(super) fn is_sql(label: &str, text: &str, field: Field) -> bool {
    if is_sql_label(label) {
        return true;
    }
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    // What is looked up is not run.
    if field == Field::Search || !text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '-')) {
        return false;
    }
    let start = without_comments(&head(text, 200).to_ascii_lowercase());
    let start = start.split_whitespace().collect::<Vec<_>>().join(" ") + " ";
    let is_asked = || field == Field::Database || label.to_ascii_lowercase().contains("query");
    START.is_match(&start) || ASKED.is_match(&start) && is_asked() || TOLD.is_match(&start) && field == Field::Database
}
