//! The context of a step: the classes of its tool, its hits of what was read before, and the user's relation to it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{SessionSnapshot, TextScreener};
use crate::model::{Content, ContentId, Finding, Kind, Origin, Pointer, Step, ToolClass, head};
use crate::policy::Policy;
use crate::session::SessionFacts;
use crate::session::lexicon::{self, words};
use crate::session::taint::{TaintHit, TaintKind, UserRelation};
use crate::shell::CommandSummary;
use crate::tools::{Classified, classes_of_call};

/// The purpose of an argument, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A text that is said or stored.
    Body,
    /// Anything else: a recipient, a place, a choice, an amount.
    Other,
}

/// A step with all that the rules look at.
pub(super) struct RuleContext<'a> {
    pub(super) past: &'a SessionSnapshot,
    pub(super) step: &'a Step,
    policy: &'a Policy,
    pub(super) screener: &'a dyn TextScreener,
    pub(super) classified: Classified,
    pub(super) hits: Vec<TaintHit>,
    commands: RefCell<HashMap<ContentId, Rc<CommandSummary>>>,
}

/// Bytes of a command that are read.
const MAX_COMMAND: usize = 16 * 1024;

impl<'a> RuleContext<'a> {
    pub(super) fn of(
        past: &'a SessionSnapshot,
        step: &'a Step,
        policy: &'a Policy,
        screener: &'a dyn TextScreener,
    ) -> Self {
        let looks = step.kind.acts() || step.kind == Kind::AgentMessage;
        let classified = step.tool_call.as_ref().map(|call| classes_of_call(step, call, policy));
        Self {
            past,
            step,
            policy,
            screener,
            classified: classified.unwrap_or_default(),
            hits: if looks {
                past.facts().taint().look(step)
            } else {
                Vec::new()
            },
            commands: RefCell::default(),
        }
    }

    /// Reads a text as a command, once.
    pub(super) fn command(&self, content: &Content) -> Rc<CommandSummary> {
        let mut commands = self.commands.borrow_mut();
        let made = || Rc::new(CommandSummary::of(head(&content.text, MAX_COMMAND)));
        Rc::clone(commands.entry(content.id).or_insert_with(made))
    }

    /// Returns the findings in a text that is no content of the step, as if it were of this origin; an argument counts as a command.
    pub(super) fn examine(&self, origin: Origin, text: &str) -> Vec<Finding> {
        self.screener.examine(self.step, origin, text, self.policy)
    }

    pub(super) fn facts(&self) -> &'a SessionFacts {
        self.past.facts()
    }

    /// Returns the tool's name, or what stands for one.
    pub(super) fn tool(&self) -> &str {
        match (&self.step.tool_call, self.step.kind) {
            (Some(call), _) => &call.tool,
            (None, Kind::A2aRequest) => "the remote agent",
            (None, _) => "the step",
        }
    }

    /// Returns the content that names the called tool.
    pub(super) fn tool_content(&self) -> Option<&'a Content> {
        let call = self.step.tool_call.as_ref()?;
        self.step.content(call.content?)
    }

    pub(super) fn has(&self, class: ToolClass) -> bool {
        self.classified.set.has(class)
    }

    pub(super) fn has_any(&self, classes: &[ToolClass]) -> bool {
        self.classified.set.has_any(classes)
    }

    /// Returns `true` if the step calls a tool.
    pub(super) fn calls(&self) -> bool {
        self.step.tool_call.is_some()
    }

    /// Returns `true` if something is handed to another party.
    pub(super) fn sends_out(&self) -> bool {
        self.step.kind == Kind::A2aRequest || self.has(ToolClass::SendsOut)
    }

    /// Returns `true` if the step acts on the world, as far as can be told: a tool of unknown class may do anything.
    pub(super) fn acts(&self) -> bool {
        self.step.kind == Kind::A2aRequest
            || self.classified.set.acts()
            || (self.calls() && self.classified.set.is_empty() && !self.classified.reads)
    }

    /// Returns the arguments that are texts.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &'a Content> {
        let step = self.step;
        step.contents_of(Origin::ToolArguments)
            .filter(|content| content.is_body_value())
    }

    /// Returns the purpose of an argument.
    pub(super) fn role(&self, pointer: &Pointer, content: Option<ContentId>) -> Role {
        let label: Option<Cow<'_, str>> = match content.and_then(|id| self.step.content(id)) {
            Some(content) => content.label.as_deref().map(Cow::Borrowed),
            None => {
                let call = self.step.tool_call.iter().flat_map(|call| &call.arguments);
                let mut named = call.filter(|argument| argument.pointer == *pointer);
                named.next().map(|argument| Cow::Borrowed(argument.name.as_str()))
            }
        };
        match label {
            Some(label) if words().bodies.contains(label.to_ascii_lowercase().as_str()) => Role::Body,
            Some(_) => Role::Other,
            None if self.calls() => Role::Other,
            None => Role::Body,
        }
    }

    /// Returns the values that someone else than the user brought up, that name a place or a person, and that stand where the call names its
    /// recipient or place.
    pub(super) fn strange_destinations(&self) -> impl Iterator<Item = &TaintHit> {
        self.hits.iter().filter(|hit| {
            let TaintKind::Value(kind) = hit.kind else {
                return false;
            };
            kind.is_destination()
                && hit.relation == UserRelation::Stranger
                && self.role(&hit.pointer, hit.content) == Role::Other
        })
    }

    /// Returns the name of the argument in which a hit stands, for an explanation.
    pub(super) fn name_of(&self, hit: &TaintHit) -> String {
        let what = match hit.kind {
            TaintKind::Value(kind) => kind.describe(),
            TaintKind::Passage => "passage",
        };
        let label = hit
            .content
            .and_then(|id| self.step.content(id))
            .and_then(|content| content.label.as_deref())
            .filter(|_| self.calls());
        match label {
            Some(label) => format!("the {what} in `{}`", crate::session::taint::short(label)),
            None => format!("the {what}"),
        }
    }

    /// Returns `true` if the user asked to hand something to anyone, in any words.
    pub(super) fn user_asked_to_send(&self) -> bool {
        let taint = self.facts().taint();
        let elsewhere = lexicon::verbs_of(ToolClass::SendsOut);
        words().sending.iter().any(|word| taint.user_said(word))
            || elsewhere.into_iter().any(|verb| taint.user_meant(verb))
    }
}
