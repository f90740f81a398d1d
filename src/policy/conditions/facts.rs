//! Facts: what is known of a step, as a request in Cedar. The names are those of `schema.cedarschema`; a test holds that.

use std::collections::BTreeSet;

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression as Expression,
};

use super::SchemaNames;
use super::arguments::{Arguments, Unseen};
use crate::model::{Caller, ClassSet, Finding, Place, Step};

/// The facts that conditions may ask about.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// The caller of the step.
    pub caller: &'a Caller,
    /// The step.
    pub step: &'a Step,
    /// The classes of the called tool.
    pub classes: ClassSet,
    /// The findings of rules that the policy heeds.
    pub findings: Vec<&'a Finding>,
    /// The trained scorer's probability of an attack.
    pub local_score: Option<f64>,
    /// The session so far.
    pub session: SessionSeen<'a>,
    /// Now.
    pub time: Time,
}

/// The facts that conditions may ask about a session.
#[derive(Clone, Debug, Default)]
pub struct SessionSeen<'a> {
    /// Earlier steps.
    pub steps: u32,
    /// Those of them that were denied and are remembered.
    pub denied: usize,
    /// True if a text was read that an outsider may have written.
    pub read_untrusted: bool,
    /// True if something private was read after that.
    pub read_sensitive: bool,
    /// The tools that were called.
    pub tools: BTreeSet<&'a str>,
    /// True if it is known from its beginning.
    pub complete: bool,
}

/// A moment, in UTC.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Year, month and day, as eight digits.
    pub date: i64,
    /// Hour and minute, as four digits.
    pub clock: i64,
    /// 1 for Monday to 7 for Sunday.
    pub weekday: i64,
}

impl Facts<'_> {
    /// Returns the request, and what its arguments do not tell. `None` where it cannot be told, which no step brings about.
    pub(super) fn request(&self, schema_names: &SchemaNames) -> Option<(Request, Entities, Unseen)> {
        let call = self.step.tool_call.as_ref();
        let Arguments {
            texts,
            numbers,
            values,
            unseen,
            ..
        } = Arguments::of(call);
        let tool_id = call.map_or("", |call| call.tool.as_str());
        let caller = uid(&schema_names.caller, &self.caller.name);
        let tool = uid(&schema_names.tool, tool_id);
        let of_tags = |name: &EntityTypeName, tags: Vec<(String, Expression)>| {
            let uid = uid(name, "");
            Some((
                Expression::new_entity_uid(uid.clone()),
                Entity::new_with_tags(uid, [], [], tags).ok()?,
            ))
        };
        let as_text = |(name, text)| (name, Expression::new_string(text));
        let as_number = |(name, number)| (name, Expression::new_long(number));
        let as_set = |(name, values)| (name, texts_of(values));
        let (arguments, texts) = of_tags(&schema_names.texts, texts.into_iter().map(as_text).collect())?;
        let (numbers, of_numbers) = of_tags(&schema_names.numbers, numbers.into_iter().map(as_number).collect())?;
        let (values, of_values) = of_tags(&schema_names.values, values.into_iter().map(as_set).collect())?;
        let of_caller = [("name".to_owned(), text(&self.caller.name))];
        let classes = self.classes.iter().map(|class| class.as_str().to_owned());
        let of_tool = [
            ("id".to_owned(), text(tool_id)),
            ("classes".to_owned(), texts_of(classes)),
        ];
        let entities = [
            Entity::new_with_tags(caller.clone(), of_caller, [], []).ok()?,
            Entity::new_with_tags(tool.clone(), of_tool, [], []).ok()?,
            texts,
            of_numbers,
            of_values,
        ];
        let mut context = self.context()?;
        context.extend([("arguments", arguments), ("numbers", numbers), ("values", values)]);
        let context = Context::from_pairs(context.into_iter().map(|(name, value)| (name.to_owned(), value))).ok()?;
        let action = uid(&schema_names.action, self.step.kind.as_str());
        let request = Request::new(caller, action, tool, context, None).ok()?;
        Some((request, Entities::from_entities(entities, None).ok()?, unseen))
    }

    /// Returns everything but the arguments.
    fn context(&self) -> Option<Vec<(&'static str, Expression)>> {
        let step = self.step;
        let agent = step.agent.as_ref();
        let agent_id = agent.and_then(|agent| agent.id.as_ref()).map_or("", |id| id.as_str());
        let agent_name = agent.and_then(|agent| agent.name.as_deref()).unwrap_or_default();
        let body = step.contents.iter().filter(|content| content.place == Place::Body);
        let origins: BTreeSet<&str> = body.map(|content| content.origin.as_str()).collect();
        let rules = self.findings.iter().map(|finding| finding.rule.as_str());
        let families = rules.clone().filter_map(|rule| rule.split('.').next());
        let findings: BTreeSet<&str> = rules.chain(families).collect();
        let reasons: BTreeSet<&str> = self.findings.iter().map(|finding| finding.reason.as_str()).collect();
        let (session, time) = (&self.session, &self.time);
        let mut told = vec![
            ("method", text(step.method.as_str())),
            ("acts", Expression::new_bool(step.kind.acts())),
            ("agent", record([("id", text(agent_id)), ("name", text(agent_name))])?),
            ("user", text(step.user.as_ref().map_or("", |user| user.as_str()))),
            ("origins", texts_of(origins)),
            ("findings", texts_of(findings)),
            ("reasons", texts_of(reasons)),
            (
                "session",
                record([
                    ("steps", Expression::new_long(session.steps.into())),
                    (
                        "denied",
                        Expression::new_long(i64::try_from(session.denied).unwrap_or(i64::MAX)),
                    ),
                    ("read_untrusted", Expression::new_bool(session.read_untrusted)),
                    ("read_sensitive", Expression::new_bool(session.read_sensitive)),
                    ("tools", texts_of(session.tools.iter().copied())),
                    ("complete", Expression::new_bool(session.complete)),
                ])?,
            ),
            (
                "time",
                record([
                    ("date", Expression::new_long(time.date)),
                    ("clock", Expression::new_long(time.clock)),
                    ("weekday", Expression::new_long(time.weekday)),
                ])?,
            ),
        ];
        let score = self.local_score.map(|score| (score * 1000.0).round() as i64);
        told.extend(score.map(|score| ("local_score", Expression::new_long(score))));
        Some(told)
    }
}

fn uid(name: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(name.clone(), EntityId::new(id))
}

fn text(text: &str) -> Expression {
    Expression::new_string(text.to_owned())
}

fn texts_of(texts: impl IntoIterator<Item = impl Into<String>>) -> Expression {
    Expression::new_set(texts.into_iter().map(|text| Expression::new_string(text.into())))
}

fn record<const N: usize>(members: [(&str, Expression); N]) -> Option<Expression> {
    Expression::new_record(members.map(|(name, value)| (name.to_owned(), value))).ok()
}
