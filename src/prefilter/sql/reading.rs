//! What the statements of a SQL text do.

use std::ops::{ControlFlow, Range};

use sqlparser::ast::{
    AlterTableOperation, BinaryOperator, CopyTarget, Expr, ObjectName, ObjectType, Query, SetExpr, Statement, Value,
    Visit, Visitor,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::dynamic::carried;
use crate::prefilter::throwaway::is_throwaway;

/// Longer texts are searched, not parsed.
const LONGEST: usize = 32 * 1024;
const MOST_OPERATORS: usize = 400;
const DEEPEST: usize = 40;

/// What a statement does that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    Drops,
    DropsMinor,
    DropsColumn,
    WritesEverywhere,
    SeveralWithWrite,
    HiddenWrite,
    Grants,
    RunsCommand,
    TouchesFiles,
    Injected,
    SplitKeyword,
}

impl Trait {
    /// Whether single words tell it, so that it matters little whether the whole was understood.
    pub(super) const fn is_a_word(self) -> bool {
        match self {
            Trait::RunsCommand | Trait::TouchesFiles => true,
            Trait::Drops
            | Trait::DropsMinor
            | Trait::DropsColumn
            | Trait::WritesEverywhere
            | Trait::SeveralWithWrite
            | Trait::HiddenWrite
            | Trait::Grants
            | Trait::Injected
            | Trait::SplitKeyword => false,
        }
    }

    pub(super) const fn explain(self) -> &'static str {
        match self {
            Trait::Drops => "a statement drops or empties tables, schemas or databases",
            Trait::DropsMinor => "a statement drops what can be made anew, or what its name calls temporary or a trial",
            Trait::DropsColumn => "a statement removes columns or constraints",
            Trait::WritesEverywhere => "a statement deletes or updates every row of a table",
            Trait::SeveralWithWrite => "a statement that writes follows one that reads",
            Trait::HiddenWrite => "a query writes in one of its parts",
            Trait::Grants => "a statement grants rights or makes a privileged user",
            Trait::RunsCommand => "a statement runs commands on the database's machine",
            Trait::TouchesFiles => "a statement reads or writes files of the database's machine",
            Trait::Injected => "the text has the shape of an injected condition or query",
            Trait::SplitKeyword => "a keyword is hidden by comments inside it",
        }
    }
}

/// What a text does.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub traits: Vec<(Trait, Range<usize>)>,
    /// Whether the text was parsed, rather than searched.
    pub certain: bool,
}

impl Reading {
    /// Adds what another reading of the same text says.
    pub(super) fn take(&mut self, other: Option<Self>) {
        let Some(other) = other else { return };
        self.certain |= other.certain;
        for (seen, span) in other.traits {
            self.add(seen, &span);
        }
    }

    fn add(&mut self, seen: Trait, span: &Range<usize>) {
        if !self.traits.iter().any(|(known, _)| *known == seen) {
            self.traits.push((seen, span.clone()));
        }
    }
}

/// Reads a text.
pub(super) fn read(text: &str) -> Reading {
    let mut reading = Reading {
        traits: Vec::new(),
        certain: true,
    };
    let span = 0..text.len();
    if splits_keyword(text) {
        reading.add(Trait::SplitKeyword, &span);
    }
    let bare = without_comments(text);
    let blank = blanked(&bare);
    by_word(&blank, &span, &mut reading);
    let is_short = text.len() <= LONGEST;
    match is_short.then(|| parse(&bare)).flatten() {
        Some(statements) => by_statement(&statements, &span, &mut reading),
        None => {
            reading.certain = false;
            by_shape(&blank, &span, &mut reading);
        }
    }
    // What is handed on as text is looked at once more, not for ever, and only where it is a statement beyond doubt.
    for text in carried(&bare, &blank) {
        if let Some(statements) = parse(&text) {
            by_statement(&statements, &span, &mut reading);
            reading.certain = true;
        }
    }
    reading
}

/// Parses, unless the text is so long or so full of operators that the tree would be deep.
fn parse(text: &str) -> Option<Vec<Statement>> {
    let operators = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| {
            [
                "or",
                "and",
                "union",
                "except",
                "intersect",
                "not",
                "join",
                "between",
                "like",
            ]
            .iter()
            .any(|operator| word.eq_ignore_ascii_case(operator))
        });
    let signs = text
        .bytes()
        .filter(|byte| matches!(byte, b'+' | b'|' | b'=' | b'<' | b'>' | b'-' | b'/' | b'[' | b':'));
    if operators.count() + signs.count() > MOST_OPERATORS {
        return None;
    }
    Parser::new(&GenericDialect {})
        .with_recursion_limit(DEEPEST)
        .try_with_sql(text)
        .ok()?
        .parse_statements()
        .ok()
        .filter(|statements| !statements.is_empty())
}

fn by_statement(statements: &[Statement], span: &Range<usize>, reading: &mut Reading) {
    let mut reads = false;
    let mut temporary = Vec::new();
    for statement in statements {
        match statement {
            Statement::Query(_) => reads = true,
            Statement::CreateTable(create) if create.temporary => {
                temporary.push(create.name.to_string().to_lowercase())
            }
            Statement::StartTransaction { .. } => {}
            _ => {
                if reads && writes(statement) {
                    reading.add(Trait::SeveralWithWrite, span);
                }
            }
        }
        let mut walker = Walker {
            reading,
            span,
            temporary: &mut temporary,
            top: true,
        };
        let ControlFlow::Continue(()) = statement.visit(&mut walker);
    }
}

fn writes(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Delete(_)
            | Statement::Update(_)
            | Statement::Insert(_)
            | Statement::Drop { .. }
            | Statement::Truncate(_)
            | Statement::AlterTable(_)
    )
}

struct Walker<'a> {
    reading: &'a mut Reading,
    span: &'a Range<usize>,
    /// Temporary tables that the text makes and has not dropped yet.
    temporary: &'a mut Vec<String>,
    top: bool,
}

impl Walker<'_> {
    /// What it means to drop or empty all of these.
    fn dropped<'a>(&self, names: impl IntoIterator<Item = &'a ObjectName>) -> Trait {
        let is_minor = |name: &ObjectName| {
            let name = name.to_string();
            self.temporary.contains(&name.to_lowercase()) || is_throwaway(&name)
        };
        match names.into_iter().all(is_minor) {
            true => Trait::DropsMinor,
            false => Trait::Drops,
        }
    }
}

impl Visitor for Walker<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        let top = std::mem::replace(&mut self.top, false);
        let everywhere = |selection: Option<&Expr>| selection.is_none_or(is_always_true);
        match statement {
            Statement::Drop { object_type, names, .. } => {
                let anew = matches!(
                    object_type,
                    ObjectType::Index | ObjectType::View | ObjectType::MaterializedView
                );
                let drops = if anew { Trait::DropsMinor } else { self.dropped(names) };
                self.reading.add(drops, self.span);
                // A temporary table hides another of its name until it is dropped itself.
                let is_dropped = |made: &String| names.iter().any(|name| name.to_string().to_lowercase() == *made);
                self.temporary.retain(|made| !is_dropped(made));
            }
            Statement::Truncate(truncate) => {
                let names = truncate.table_names.iter().map(|target| &target.name);
                let drops = self.dropped(names);
                self.reading.add(drops, self.span);
            }
            Statement::DropFunction(_) => self.reading.add(Trait::Drops, self.span),
            Statement::AlterTable(alter) => {
                let drops = alter.operations.iter().any(|operation| {
                    matches!(
                        operation,
                        AlterTableOperation::DropColumn { .. }
                            | AlterTableOperation::DropConstraint { .. }
                            | AlterTableOperation::DropPrimaryKey { .. }
                    )
                });
                if drops {
                    self.reading.add(Trait::DropsColumn, self.span);
                }
            }
            Statement::Delete(delete) if everywhere(delete.selection.as_ref()) && delete.limit.is_none() => {
                self.reading.add(Trait::WritesEverywhere, self.span);
            }
            Statement::Update(update)
                if everywhere(update.selection.as_ref()) && update.limit.is_none() && update.from.is_none() =>
            {
                self.reading.add(Trait::WritesEverywhere, self.span);
            }
            Statement::Copy { target, .. } => match target {
                CopyTarget::Program { .. } => self.reading.add(Trait::RunsCommand, self.span),
                CopyTarget::File { .. } => self.reading.add(Trait::TouchesFiles, self.span),
                CopyTarget::Stdin | CopyTarget::Stdout => {}
            },
            Statement::Grant { .. } => self.reading.add(Trait::Grants, self.span),
            _ => {}
        }
        if !top && writes(statement) {
            self.reading.add(Trait::HiddenWrite, self.span);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let hidden = tables.into_iter().any(|table| {
            matches!(
                *table.query.body,
                SetExpr::Delete(_) | SetExpr::Update(_) | SetExpr::Insert(_)
            )
        });
        if hidden {
            self.reading.add(Trait::HiddenWrite, self.span);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<Self::Break> {
        if let Expr::BinaryOp {
            op: BinaryOperator::Or,
            left,
            right,
        } = expression
            && (is_tautology(left) || is_tautology(right))
        {
            self.reading.add(Trait::Injected, self.span);
        }
        ControlFlow::Continue(())
    }
}

/// A condition that holds for every row; only as deep as a person would write it.
fn is_always_true(expression: &Expr) -> bool {
    let mut open = vec![expression];
    let mut turns = 0;
    while let Some(next) = open.pop() {
        turns += 1;
        if turns > MOST_OPERATORS {
            return false;
        }
        if is_tautology(next) {
            return true;
        }
        match next {
            Expr::Nested(inside) => open.push(inside),
            Expr::BinaryOp {
                op: BinaryOperator::Or,
                left,
                right,
            } => open.extend([left.as_ref(), right.as_ref()]),
            _ => {}
        }
    }
    false
}

fn is_tautology(expression: &Expr) -> bool {
    match expression {
        Expr::Value(value) => match &value.value {
            Value::Boolean(truth) => *truth,
            Value::Number(number, _) => number.as_str() != "0",
            _ => false,
        },
        Expr::BinaryOp {
            op: BinaryOperator::Eq,
            left,
            right,
        } => match (left.as_ref(), right.as_ref()) {
            (Expr::Value(left), Expr::Value(right)) => left.value == right.value,
            (Expr::Identifier(left), Expr::Identifier(right)) => left.value == right.value,
            _ => false,
        },
        // Every row has a key, and none is below zero.
        Expr::IsNotNull(inner) => is_row_key(inner),
        Expr::BinaryOp {
            op: BinaryOperator::Gt | BinaryOperator::GtEq | BinaryOperator::NotEq,
            left,
            right,
        } => match (left.as_ref(), right.as_ref()) {
            (Expr::Value(left), Expr::Value(right)) => left.value != right.value,
            (left, Expr::Value(right)) => {
                is_row_key(left) && matches!(&right.value, Value::Number(number, _) if number.as_str() == "0")
            }
            (left, Expr::UnaryOp { .. }) => is_row_key(left),
            _ => false,
        },
        Expr::Like {
            negated: false,
            pattern,
            ..
        } => {
            matches!(pattern.as_ref(), Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(text) if text == "%"))
        }
        _ => false,
    }
}

/// Whether it is the name by which rows are told apart.
fn is_row_key(expression: &Expr) -> bool {
    let name = match expression {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(names) => match names.last() {
            Some(name) => name,
            None => return false,
        },
        _ => return false,
    };
    ["id", "rowid", "uuid", "ctid", "_id"]
        .iter()
        .any(|key| name.value.eq_ignore_ascii_case(key))
}

/// What single words tell, in a text without comments and literals.
fn by_word(blank: &str, span: &Range<usize>, reading: &mut Reading) {
    let has = |any: &[&str]| any.iter().any(|word| blank.contains(word));
    if has(&[
        "xp_cmdshell",
        "sys_exec(",
        "sys_eval(",
        "sp_oacreate",
        "from program '",
        "to program '",
        "plpythonu",
        "plpython3u",
        "plperlu",
        "dbms_scheduler",
        "dbms_java",
        "java_exec",
        "load_extension(",
    ]) {
        reading.add(Trait::RunsCommand, span);
    }
    if has(&[
        "into outfile",
        "into dumpfile",
        "load_file(",
        "load data infile",
        "load data local infile",
        "pg_read_file(",
        "pg_read_binary_file(",
        "pg_ls_dir(",
        "lo_import(",
        "lo_export(",
        "utl_file",
        "openrowset(",
        "attach database '",
        "readfile(",
        "writefile(",
    ]) {
        reading.add(Trait::TouchesFiles, span);
    }
    if blank.contains("when matched then delete") && has(&[" on 1=1", " on 1 = 1", " on true", " on (1=1)"]) {
        reading.add(Trait::WritesEverywhere, span);
    }
    if has(&[" union ", "union all"])
        && has(&[
            "information_schema",
            "pg_catalog",
            "sqlite_master",
            "sys.tables",
            "all_tables",
            "mysql.user",
            "pg_shadow",
        ])
        || has(&[
            "sleep(",
            "pg_sleep(",
            "benchmark(",
            "waitfor delay",
            "extractvalue(",
            "updatexml(",
        ])
    {
        reading.add(Trait::Injected, span);
    }
    if (blank.trim_start().starts_with("grant ") && blank.contains(" to "))
        || (has(&["superuser", "createrole", "bypassrls"])
            && has(&["alter user", "alter role", "create user", "create role"]))
    {
        reading.add(Trait::Grants, span);
    }
}

/// What the shape tells where no parser takes the text.
fn by_shape(blank: &str, span: &Range<usize>, reading: &mut Reading) {
    let mut read_before = false;
    for statement in blank.split(';') {
        let statement = statement
            .trim_start_matches(|c: char| c.is_whitespace() || c == '\'' || c == ')' || c == '"' || c.is_ascii_digit());
        let words: Vec<&str> = statement.split_whitespace().take(400).collect();
        let second = |kinds: &[&str]| words.get(1).is_some_and(|word| kinds.contains(word));
        let wrote = match words.first().copied().unwrap_or_default() {
            "drop" if second(&["table", "database", "schema", "view", "index", "user", "role"]) => {
                reading.add(Trait::Drops, span);
                true
            }
            "truncate" => {
                reading.add(Trait::Drops, span);
                true
            }
            "alter" if statement.contains(" drop ") => {
                reading.add(Trait::DropsColumn, span);
                true
            }
            "delete" if second(&["from"]) && !words.contains(&"where") => {
                reading.add(Trait::WritesEverywhere, span);
                true
            }
            "update" if words.contains(&"set") && !words.contains(&"where") => {
                reading.add(Trait::WritesEverywhere, span);
                true
            }
            "delete" | "update" | "insert" => true,
            "with"
                if ["(delete from ", "(update ", "(insert into "]
                    .iter()
                    .any(|part| statement.contains(part)) =>
            {
                reading.add(Trait::HiddenWrite, span);
                false
            }
            _ => false,
        };
        if wrote && read_before {
            reading.add(Trait::SeveralWithWrite, span);
        }
        read_before |= !wrote && !statement.is_empty();
    }
    if (blank.starts_with('\'') || blank.contains("' or ") || blank.contains(" or 1=1"))
        && (blank.contains("--") || blank.contains("1=1") || blank.contains("''=''"))
    {
        reading.add(Trait::Injected, span);
    }
}

/// The text without comments; what stands in executable comments stays.
pub(super) fn without_comments(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    let mut quote: Option<char> = None;
    let mut executable = false;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                bare.push(c);
            }
            (Some(_), c) => bare.push(c),
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                bare.push(c);
            }
            (None, '*') if executable && rest.starts_with("*/") => {
                executable = false;
                bare.push(' ');
                length = 2;
            }
            (None, '/') if rest.starts_with("/*!") => {
                executable = true;
                let digits = rest
                    .get(3..)
                    .unwrap_or_default()
                    .bytes()
                    .take_while(u8::is_ascii_digit)
                    .count();
                length = 3 + digits;
            }
            (None, '/') if rest.starts_with("/*") => {
                length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                // Between words it separates them; inside a word it joins what it split.
                let glued = bare.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && rest
                        .get(length..)
                        .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_alphanumeric()));
                if !(glued && joins_keyword(&bare, rest.get(length..).unwrap_or_default())) {
                    bare.push(' ');
                }
            }
            (None, '-') if rest.starts_with("--") => length = rest.find('\n').unwrap_or(rest.len()),
            (None, c) => bare.push(c),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    bare
}

const KEYWORDS: &[&str] = &[
    "drop",
    "delete",
    "truncate",
    "union",
    "select",
    "insert",
    "update",
    "alter",
    "grant",
    "exec",
    "table",
    "from",
    "where",
    "into",
    "outfile",
    "load_file",
    "database",
    "execute",
];

fn joins_keyword(before: &str, after: &str) -> bool {
    let is_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let mut head: Vec<char> = before.chars().rev().take(16).take_while(is_word).collect();
    head.reverse();
    // A keyword may be split more than once.
    let tail: String = without_inner_comments(after)
        .chars()
        .take_while(is_word)
        .take(16)
        .collect();
    let word: String = head
        .into_iter()
        .chain(tail.chars())
        .collect::<String>()
        .to_ascii_lowercase();
    KEYWORDS
        .iter()
        .any(|keyword| word.starts_with(keyword) && word.len() <= keyword.len() + 1)
}

fn without_inner_comments(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text.get(..text.floor_char_boundary(200)).unwrap_or_default();
    while let Some((before, after)) = rest.split_once("/*") {
        bare.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    bare.push_str(rest);
    bare
}

fn splits_keyword(text: &str) -> bool {
    let mut from = 0;
    let mut looked = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("/*")) {
        looked += 1;
        if looked > 200 {
            return true;
        }
        let at = from + found;
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("/*!") {
            let body = rest
                .trim_start_matches(['/', '*', '!'])
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start();
            let word: String = body
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .take(16)
                .collect::<String>()
                .to_ascii_lowercase();
            if KEYWORDS.contains(&word.as_str()) {
                return true;
            }
        }
        let Some(length) = rest.find("*/") else { return false };
        let after = rest.get(length + 2..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        let glued =
            before.ends_with(|c: char| c.is_ascii_alphabetic()) && after.starts_with(|c: char| c.is_ascii_alphabetic());
        if glued && joins_keyword(before, after) {
            return true;
        }
        from = at + length + 2;
    }
    false
}

/// The text in lower case, with literals emptied and blanks made single.
fn blanked(text: &str) -> String {
    let mut blank = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                blank.push(c);
            }
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                blank.push(c);
            }
            (None, c) if c.is_whitespace() => {
                if !blank.ends_with(' ') {
                    blank.push(' ');
                }
            }
            (None, c) => blank.extend(c.to_lowercase()),
        }
    }
    blank
}
