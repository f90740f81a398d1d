//! What a tool does with the texts that it is given, by the words of its name.

/// A tool's trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trade {
    /// It asks a database.
    Database,
    /// It looks words up: what it is given is never run.
    Search,
    /// Anything else.
    Other,
}

#[rustfmt::skip]
const DATABASES: &[&str] = &[
    "sql", "db", "database", "databases", "postgres", "postgresql", "psql", "mysql", "mariadb", "sqlite", "mssql", "oracle",
    "snowflake", "bigquery", "redshift", "clickhouse", "duckdb", "supabase", "trino", "presto", "athena", "cockroach",
    "warehouse", "mongo", "mongodb", "redis", "neo4j", "cypher", "cassandra", "cql", "dynamodb",
];

#[rustfmt::skip]
const SEARCHES: &[&str] = &[
    "search", "find", "lookup", "docs", "doc", "documentation", "web", "google", "bing", "wikipedia", "wiki", "retrieve",
    "retrieval", "rag", "faq", "ask", "news", "knowledge", "kb", "grep", "translate",
];

/// The trade of a tool.
pub(super) fn trade(tool: &str) -> Trade {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_lower = false;
    for c in tool.chars().take(256).chain(std::iter::once('.')) {
        let breaks = !c.is_alphanumeric() || (c.is_uppercase() && previous_lower);
        if breaks && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    match () {
        () if has(DATABASES) => Trade::Database,
        () if has(SEARCHES) => Trade::Search,
        () => Trade::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_a_trade() {
        for (tool, expected) in [
            ("run_sql", Trade::Database),
            ("queryDatabase", Trade::Database),
            ("mcp.postgres.search", Trade::Database),
            ("search_docs", Trade::Search),
            ("webSearch", Trade::Search),
            ("send_mail", Trade::Other),
            ("", Trade::Other),
        ] {
            assert_eq!(trade(tool), expected, "{tool}");
        }
    }
}
