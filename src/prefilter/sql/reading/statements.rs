//! The statements that a parser takes, and what each of them does.

use std::ops::{ControlFlow, Range};

use sqlparser::ast::{
    AlterTableOperation, BinaryOperator, CopyTarget, Expr, FromTable, ObjectName, ObjectType, Query, SetExpr,
    Statement, TableFactor, TableWithJoins, Value, Visit, Visitor,
};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::{Reading, Trait};
use crate::prefilter::disposable::is_disposable;

const MAX_OPERATORS: usize = 400;

const MAX_DEPTH: usize = 40;

const OPERATORS: &[&str] = &[
    "or",
    "and",
    "union",
    "except",
    "intersect",
    "not",
    "join",
    "between",
    "like",
];

/// Parses, unless the text is so long or so full of operators that the tree would be deep.
pub(super) fn parse(text: &str) -> Option<Vec<Statement>> {
    let operators = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| OPERATORS.iter().any(|operator| word.eq_ignore_ascii_case(operator)));
    let signs = text
        .bytes()
        .filter(|byte| matches!(byte, b'+' | b'|' | b'=' | b'<' | b'>' | b'-' | b'/' | b'[' | b':'));
    if operators.count() + signs.count() > MAX_OPERATORS {
        return None;
    }
    Parser::new(&GenericDialect {})
        .with_recursion_limit(MAX_DEPTH)
        .try_with_sql(text)
        .ok()?
        .parse_statements()
        .ok()
        .filter(|statements| !statements.is_empty())
}

pub(super) fn by_statement(statements: &[Statement], span: &Range<usize>, reading: &mut Reading) {
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
    /// Returns the trait of dropping or emptying all of these.
    fn dropped<'a>(&self, names: impl IntoIterator<Item = &'a ObjectName>) -> Trait {
        let is_minor = |name: &ObjectName| {
            let name = name.to_string();
            self.temporary.contains(&name.to_lowercase()) || is_disposable(&name)
        };
        match names.into_iter().all(is_minor) {
            true => Trait::DropsMinor,
            false => Trait::Drops,
        }
    }

    /// Returns the trait of writing to every row of these.
    fn written(&self, tables: &[TableWithJoins]) -> Trait {
        let name = |table: &TableWithJoins| match &table.relation {
            TableFactor::Table { name, .. } => Some(name.clone()),
            _ => None,
        };
        let names: Option<Vec<ObjectName>> = tables.iter().map(name).collect();
        match names
            .filter(|names| !names.is_empty())
            .map(|names| self.dropped(&names))
        {
            Some(Trait::DropsMinor) => Trait::DropsMinor,
            _ => Trait::WritesEverywhere,
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
            Statement::Delete(delete) if everywhere(delete.selection.as_ref()) && !narrows(delete.limit.as_ref()) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                let joins = !delete.tables.is_empty() && from.iter().any(|table| !table.joins.is_empty());
                if !joins {
                    let written = self.written(from);
                    self.reading.add(written, self.span);
                }
            }
            Statement::Update(update)
                if everywhere(update.selection.as_ref())
                    && !narrows(update.limit.as_ref())
                    && update.from.is_none() =>
            {
                let written = self.written(std::slice::from_ref(&update.table));
                self.reading.add(written, self.span);
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

/// Returns `true` if a limit leaves rows as they are: a great number is none.
fn narrows(limit: Option<&Expr>) -> bool {
    const MANY: u64 = 100_000;
    match limit {
        None => false,
        Some(Expr::Value(value)) => match &value.value {
            Value::Number(number, _) => number.parse::<u64>().is_ok_and(|number| number < MANY),
            _ => true,
        },
        Some(_) => true,
    }
}

/// Returns `true` for a condition that holds for every row; only as deep as a person would write it.
fn is_always_true(expression: &Expr) -> bool {
    let mut open = vec![expression];
    let mut turns = 0;
    while let Some(next) = open.pop() {
        turns += 1;
        if turns > MAX_OPERATORS {
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

/// Returns `true` if it is the name by which rows are told apart.
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
