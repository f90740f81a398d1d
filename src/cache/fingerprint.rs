//! The fingerprint: everything that a judge would see, in 256 bits.
//!
//! Every part goes in with its length before it, so that no two different lists of parts read the same. Texts go in
//! as they are: not normalised, not canonicalised. Left out is what no judge is shown — request ids, timestamps, turn
//! and step ids — unless a finding points at it. Of a session everything goes in that a judge can be shown: requests, earlier
//! steps, what became of them; no times.

use crate::model::{
    Content, Earlier, Excerpt, Finding, FirstRead, History, OrganisationId, Origin, Place, Reappears, Step,
};

/// What surrounds a judgement: two equal steps in different scopes have different fingerprints.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The organisation.
    pub organisation: &'a OrganisationId,
    /// The version of its policy.
    pub policy_version: &'a str,
    /// The version of its prompts.
    pub prompt_version: &'a str,
    /// The judge: model and whatever else changes its answers.
    pub judge: &'a str,
}

/// A fingerprint of a step in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of what a judge would see of a step.
    pub fn of(scope: &Scope<'_>, step: &Step, findings: &[Finding], history: &History) -> Self {
        let mut parts = Parts(Vec::with_capacity(ROOM));
        parts.text(env!("CARGO_PKG_VERSION"));
        parts.text(scope.organisation.as_str());
        parts.text(scope.policy_version);
        parts.text(scope.prompt_version);
        parts.text(scope.judge);
        parts.text(step.method.as_str());
        parts.text(step.kind.as_str());
        parts.number(u64::from(step.session.is_some()));
        parts.number(u64::from(step.user.is_some()));
        parts.option(step.agent.as_ref().and_then(|agent| agent.name.as_deref()));
        parts.option(
            step.agent
                .as_ref()
                .and_then(|agent| agent.id.as_ref())
                .map(|id| id.as_str()),
        );
        parts.option(step.tool_call.as_ref().map(|call| call.tool.as_str()));
        let arguments = step.tool_call.iter().flat_map(|call| &call.arguments);
        parts.list(arguments, |parts, argument| {
            parts.text(&argument.name);
            parts.text(argument.pointer.as_str());
            parts.text(&argument.json);
        });
        parts.list(&step.data, |parts, data| {
            parts.text(data.pointer.as_str());
            parts.text(data.origin.as_str());
            parts.text(&data.json);
        });
        parts.list(&step.particulars, |parts, particular| {
            parts.text(particular.what);
            parts.number(particular.content.index() as u64);
        });
        let seen = step.contents.iter().filter(|content| {
            let particular = step.particulars.iter().any(|told| told.content == content.id);
            particular || is_seen(content, findings)
        });
        parts.list(seen, Parts::content);
        parts.list(findings, |parts, finding| {
            parts.text(&finding.rule);
            parts.text(finding.pointer.as_str());
            parts.number(finding.span.start as u64);
            parts.number(finding.span.end as u64);
            parts.text(finding.severity.as_str());
            parts.text(finding.confidence.as_str());
            parts.text(finding.suggested.as_str());
            parts.text(&finding.explanation);
        });
        parts.history(history);
        Self(*blake3::hash(&parts.0).as_bytes())
    }
}

/// Whether a judge is shown a content: the step's body; of the surroundings what speaks, and what a finding points at.
fn is_seen(content: &Content, findings: &[Finding]) -> bool {
    let speaks = match content.place {
        Place::Body => true,
        Place::Surroundings => {
            matches!(
                content.origin,
                Origin::Instructions | Origin::ToolDescription | Origin::Knowledge | Origin::RemoteAgent
            )
        }
    };
    speaks || findings.iter().any(|finding| finding.content == Some(content.id))
}

/// Bytes that most steps with their history take.
const ROOM: usize = 16 * 1024;

/// What is to be hashed. It is hashed at once: of a long text many parts are hashed side by side, of short ones none.
struct Parts(Vec<u8>);

impl Parts {
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn option(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A list, with a mark before each item and another one at its end: what stands in one list never looks as if it stood in
    /// the next.
    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Self, T)) {
        for item in items {
            self.number(1);
            write(self, item);
        }
        self.number(0);
    }

    fn excerpt(&mut self, excerpt: &Excerpt) {
        self.text(&excerpt.head);
        self.number(excerpt.cut as u64);
        self.text(&excerpt.tail);
    }

    fn history(&mut self, history: &History) {
        self.number(history.voice as u64);
        self.number(history.more_requests as u64);
        self.list(&history.requests, |parts, request| {
            parts.number(u64::from(request.number));
            parts.number(u64::from(request.step));
            parts.number(request.answers.map_or(0, u64::from));
            parts.excerpt(&request.text);
        });
        self.list(&history.first_read, Self::first_read);
        self.number(history.more_steps as u64);
        self.list(&history.steps, |parts, step| parts.earlier(step));
    }

    fn first_read(&mut self, read: &FirstRead) {
        let FirstRead {
            step,
            origin,
            tool,
            pointer,
            of,
            before,
            text,
            after,
        } = read;
        self.number(u64::from(*step));
        self.text(origin.as_str());
        self.option(tool.as_deref());
        self.text(pointer.as_str());
        self.list(of, |parts, of| {
            let Reappears { content, pointer, text } = of;
            parts.number(content.map_or(0, |content| content.index() as u64 + 1));
            parts.text(pointer.as_str());
            parts.text(text);
        });
        self.number(*before as u64);
        self.text(text);
        self.number(*after as u64);
    }

    fn earlier(&mut self, step: &Earlier) {
        for number in [step.number, step.last, step.times] {
            self.number(u64::from(number));
        }
        self.text(step.method.as_str());
        self.text(step.kind.as_str());
        self.option(step.tool.as_deref());
        self.text(step.outcome.as_str());
        self.list(&step.reasons, |parts, reason| parts.text(reason.as_str()));
        self.number(step.unsaid as u64);
        self.list(&step.said, |parts, said| {
            parts.text(said.origin.as_str());
            parts.option(said.label.as_deref());
            parts.excerpt(&said.text);
        });
        self.list(&step.noted, |parts, noted| {
            parts.text(&noted.rule);
            parts.text(noted.reason.as_str());
            parts.text(noted.severity.as_str());
            parts.text(noted.confidence.as_str());
            parts.text(noted.pointer.as_str());
        });
    }

    /// The id goes in because edits name contents by it; the pointer tells where.
    fn content(&mut self, content: &Content) {
        self.number(content.id.index() as u64);
        self.text(content.origin.as_str());
        self.text(content.pointer.as_str());
        self.option(content.label.as_deref());
        self.text(match content.form {
            crate::model::Form::Text => "text",
            crate::model::Form::Number => "number",
            crate::model::Form::Key => "key",
            crate::model::Form::TextFile { .. } => "text_file",
            crate::model::Form::OpaqueFile { .. } => "opaque_file",
        });
        self.text(&content.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_one_list_does_not_begin_the_next() {
        let of = |one: &[&str], next: &[&str]| {
            let mut parts = Parts(Vec::new());
            parts.list(one, |parts, text| parts.text(text));
            parts.list(next, |parts, text| parts.text(text));
            parts.0
        };
        assert_ne!(of(&["a", "b"], &[]), of(&["a"], &["b"]));
        assert_ne!(of(&["a"], &["b"]), of(&[], &["a", "b"]));
    }
}
