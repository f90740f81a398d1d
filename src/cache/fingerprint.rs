//! The fingerprint: everything that a judge would see, in 256 bits.
//!
//! It is made of the same values as a prompt: the step, its findings, the suspicion, the history, and the scope that names policy, templates and
//! judge. Every struct is taken apart field by field, without `..`: a new field does not compile before it is decided whether a judge is shown it.
//! Fields that a judge is never shown are bound to `_` here, with the reason.
//!
//! Every part goes in with its length before it, so that no two different lists of parts read the same. Texts go in as they are: not normalised, not
//! canonicalised. Left out are request ids, timestamps, turn and step ids, unless a finding points at them. Of a session everything goes in that a
//! judge can be shown: requests, earlier steps, their outcomes; no times.

use crate::model::{
    Agent, Argument, ArgumentDefinition, Content, Data, Earlier, EarlierText, Excerpt, Fact, Finding, FirstRead, Form,
    History, Noted, OrganisationId, Origin, Place, Reappears, Request, Step, Suspicion, Tool, ToolCall,
};

/// The surroundings of a judgement: two equal steps in different scopes have different fingerprints.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The organisation.
    pub organisation: &'a OrganisationId,
    /// The version of its policy.
    pub policy_version: &'a str,
    /// The version of its prompts.
    pub prompt_version: &'a str,
    /// The judge: model and everything else that changes its answers.
    pub judge: &'a str,
}

/// A fingerprint of a step in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Returns its bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Computes the fingerprint of what a judge would see of a step.
    pub fn of(
        scope: &Scope<'_>,
        step: &Step,
        findings: &[Finding],
        suspicion: Option<&Suspicion>,
        history: &History,
    ) -> Self {
        let Scope {
            organisation,
            policy_version,
            prompt_version,
            judge,
        } = scope;
        let mut parts = Parts(Vec::with_capacity(ROOM));
        parts.text(env!("CARGO_PKG_VERSION"));
        parts.text(organisation.as_str());
        parts.text(policy_version);
        parts.text(prompt_version);
        parts.text(judge);
        parts.step(step, findings);
        parts.list(findings, Parts::finding);
        parts.list(suspicion, |parts, Suspicion { rule, why }| {
            parts.text(rule);
            parts.text(why);
        });
        parts.history(history);
        Self(*blake3::hash(&parts.0).as_bytes())
    }
}

/// Returns `true` if a judge is shown a content: the step's body; of the surroundings words, and contents that a finding points at.
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

/// The bytes to be hashed. They are hashed at once: of a long text many parts are hashed side by side, of short ones none.
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

    /// Adds a list, with a mark before each item and another one at its end: an item of one list never looks like one of the next.
    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Self, T)) {
        for item in items {
            self.number(1);
            write(self, item);
        }
        self.number(0);
    }

    fn step(&mut self, step: &Step, findings: &[Finding]) {
        let Step {
            method,
            kind,
            agent,
            session,
            user,
            // Ids that tie postings together are not shown to a judge.
            ties: _,
            facts,
            tool_call,
            announced_tools,
            contents,
            data,
            // A judge is told of remarks by findings.
            remarks: _,
            // The document itself: what is shown of it stands in the other fields.
            original: _,
        } = step;
        self.text(method.as_str());
        self.text(kind.as_str());
        self.list(agent, Self::agent);
        // A judge is shown whether there is one, not the id itself.
        self.number(u64::from(session.is_some()));
        self.number(u64::from(user.is_some()));
        self.list(facts, |parts, fact| {
            let Fact { kind, text } = fact;
            parts.text(kind.as_str());
            parts.text(text);
        });
        self.list(tool_call, Self::tool_call);
        self.list(announced_tools, Self::tool);
        self.list(data, |parts, data| {
            let Data { pointer, origin, json } = data;
            parts.text(pointer.as_str());
            parts.text(origin.as_str());
            parts.text(json);
        });
        let seen = contents.iter().filter(|content| is_seen(content, findings));
        self.list(seen, Self::content);
    }

    fn agent(&mut self, agent: &Agent) {
        let Agent { id, name, tools } = agent;
        self.option(id.as_ref().map(|id| id.as_str()));
        self.option(name.as_deref());
        self.list(tools, Self::tool);
    }

    fn tool(&mut self, tool: &Tool) {
        let Tool {
            id,
            name,
            description,
            arguments,
        } = tool;
        self.text(id);
        self.text(name);
        self.option(description.as_deref());
        self.number(u64::from(arguments.is_some()));
        self.list(arguments.iter().flatten(), |parts, argument| {
            let ArgumentDefinition {
                name,
                type_name,
                required,
            } = argument;
            parts.text(name);
            parts.option(type_name.as_deref());
            parts.number(u64::from(*required));
        });
    }

    fn tool_call(&mut self, call: &ToolCall) {
        let ToolCall {
            tool,
            content,
            arguments,
        } = call;
        self.text(tool);
        self.number(content.map_or(0, |content| content.index() as u64 + 1));
        self.list(arguments, |parts, argument| {
            let Argument { name, pointer, json } = argument;
            parts.text(name);
            parts.text(pointer.as_str());
            parts.text(json);
        });
    }

    /// Adds a content, with its id, because edits name contents by it, and its pointer, which tells the place.
    fn content(&mut self, content: &Content) {
        let Content {
            id,
            origin,
            pointer,
            label,
            place,
            form,
            text,
        } = content;
        self.number(id.index() as u64);
        self.text(origin.as_str());
        self.text(pointer.as_str());
        self.option(label.as_deref());
        self.text(match place {
            Place::Body => "body",
            Place::Surroundings => "surroundings",
        });
        let (form, media_type) = match form {
            Form::Text => ("text", None),
            Form::Number => ("number", None),
            Form::Key => ("key", None),
            Form::TextFile { media_type } => ("text_file", media_type.as_deref()),
            Form::OpaqueFile { media_type } => ("opaque_file", media_type.as_deref()),
        };
        self.text(form);
        self.option(media_type);
        self.text(text);
    }

    fn finding(&mut self, finding: &Finding) {
        let Finding {
            rule,
            reason,
            severity,
            confidence,
            content,
            pointer,
            span,
            view,
            suggested,
            explanation,
        } = finding;
        self.text(rule);
        self.text(reason.as_str());
        self.text(severity.as_str());
        self.text(confidence.as_str());
        self.number(content.map_or(0, |content| content.index() as u64 + 1));
        self.text(pointer.as_str());
        self.number(span.start as u64);
        self.number(span.end as u64);
        self.text(view.as_str());
        self.text(suggested.as_str());
        self.text(explanation);
    }

    fn history(&mut self, history: &History) {
        let History {
            requests,
            more_requests,
            first_read,
            steps,
            more_steps,
            voice,
            gap,
        } = history;
        self.option(gap.map(|gap| gap.as_str()));
        self.number(*voice as u64);
        self.number(*more_requests as u64);
        self.list(requests, |parts, request| {
            let Request {
                number,
                step,
                text,
                answers,
            } = request.as_ref();
            parts.number(u64::from(*number));
            parts.number(u64::from(*step));
            parts.number(answers.map_or(0, u64::from));
            parts.excerpt(text);
        });
        self.list(first_read, Self::first_read);
        self.number(*more_steps as u64);
        self.list(steps, |parts, step| parts.earlier(step));
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
        let Earlier {
            number,
            last,
            times,
            method,
            kind,
            tool,
            outcome,
            reasons,
            said,
            unsaid,
            noted,
        } = step;
        for number in [number, last, times] {
            self.number(u64::from(*number));
        }
        self.text(method.as_str());
        self.text(kind.as_str());
        self.option(tool.as_deref());
        self.text(outcome.as_str());
        self.list(reasons, |parts, reason| parts.text(reason.as_str()));
        self.number(*unsaid as u64);
        self.list(said, |parts, said| {
            let EarlierText {
                origin,
                pointer,
                label,
                text,
            } = said;
            parts.text(origin.as_str());
            parts.text(pointer.as_str());
            parts.option(label.as_deref());
            parts.excerpt(text);
        });
        self.list(noted, |parts, noted| {
            let Noted {
                rule,
                reason,
                severity,
                confidence,
                pointer,
            } = noted;
            parts.text(rule);
            parts.text(reason.as_str());
            parts.text(severity.as_str());
            parts.text(confidence.as_str());
            parts.text(pointer.as_str());
        });
    }

    fn excerpt(&mut self, excerpt: &Excerpt) {
        let Excerpt { head, cut, tail } = excerpt;
        self.text(head);
        self.number(*cut as u64);
        self.text(tail);
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
