//! The facts by which a record is searched, read out of its line, and the query of a search.

/// Bytes of one value that is searched by; more are cut, in records and in searches alike.
const MAX_VALUE: usize = 256;

/// The query of a search; all that is given has to fit.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The organisation.
    pub organisation: Option<String>,
    /// The decision's id, or how it begins.
    pub decision_id: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The credential.
    pub caller: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// A rule that fired.
    pub rule: Option<String>,
    /// `allow`, `modify`, `deny`.
    pub decision: Option<String>,
    /// The first moment, in microseconds since 1970.
    pub since: Option<i64>,
    /// The moment before which it was.
    pub until: Option<i64>,
    /// Records at most; the latest are found.
    pub limit: usize,
}

/// The facts by which a record is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) organisation: String,
    /// Microseconds since 1970.
    pub(super) time: i64,
    pub(super) decision_id: String,
    pub(super) session: Option<String>,
    pub(super) user: Option<String>,
    /// The caller; empty where the record says something of the chain itself, and where it was erased.
    pub(super) caller: String,
    pub(super) tool: Option<String>,
    pub(super) decision: Option<String>,
    /// The rules, with a space before and behind each; empty without any.
    pub(super) rules: String,
}

impl Query {
    /// Returns `true` if a record with these facts is looked for. What a chain says of itself is found by its id only.
    pub(super) fn fits(&self, facts: &Facts) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| found == Some(searched(wanted).as_str()))
        };
        let is_step = !facts.caller.is_empty() || self.decision_id.is_some() || self.caller.is_some();
        let rule = self
            .rule
            .as_ref()
            .map(|rule| format!(" {} ", rule.replace(['\0', ' '], "")));
        is_step
            && is(&self.organisation, Some(&facts.organisation))
            && is(&self.session, facts.session.as_deref())
            && is(&self.user, facts.user.as_deref())
            && is(&self.caller, Some(&facts.caller))
            && is(&self.tool, facts.tool.as_deref())
            && is(&self.decision, facts.decision.as_deref())
            && self
                .decision_id
                .as_ref()
                .is_none_or(|id| facts.decision_id.starts_with(&searched(id)))
            && rule.is_none_or(|rule| facts.rules.contains(&rule))
            && self.since.is_none_or(|since| facts.time >= since)
            && self.until.is_none_or(|until| facts.time < until)
    }
}

impl Facts {
    pub(super) fn of(line: &str) -> Self {
        let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let text = |key: &str| record.get(key).and_then(|value| value.as_str()).map(searched);
        let time = text("time").and_then(|time| time.parse::<jiff::Timestamp>().ok());
        let findings = record.get("findings").and_then(|findings| findings.as_array());
        let rules = findings
            .into_iter()
            .flatten()
            .filter_map(|finding| finding.get("rule")?.as_str());
        let rules: Vec<&str> = rules.collect();
        Self {
            organisation: text("organisation").unwrap_or_default(),
            time: time.map_or(0, jiff::Timestamp::as_microsecond),
            // Each record has an id of its own, also one that no guardian wrote.
            decision_id: text("decision_id").unwrap_or_else(|| blake3::hash(line.as_bytes()).to_hex().to_string()),
            session: text("session"),
            user: text("user"),
            caller: text("caller").unwrap_or_default(),
            tool: text("tool"),
            decision: text("decision"),
            rules: match rules.is_empty() {
                true => String::new(),
                false => format!(" {} ", rules.join(" ").replace('\0', "")),
            },
        }
    }

    /// Returns what is left of them when the record was erased.
    pub(super) fn erased(&self) -> Self {
        Self {
            organisation: self.organisation.clone(),
            time: self.time,
            decision_id: self.decision_id.clone(),
            ..Self::default()
        }
    }
}

/// Returns a value as it is searched by: databases take no NUL in a text, and no long value in an index.
pub(super) fn searched(value: &str) -> String {
    let end = value.floor_char_boundary(MAX_VALUE.min(value.len()));
    value.get(..end).unwrap_or_default().replace('\0', "")
}
