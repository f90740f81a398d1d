//! The parties of a step: the agent, the session and the user of a context.

use crate::model::{Agent, AgentId, Fact, FactKind, Remark, SessionId, UserId};
use crate::wire::draft::{Checked, fact_of};
use crate::wire::json::{Kind, NodeId, Table};
use crate::wire::jsonrpc::RpcError;
use crate::wire::leniency::Leniency;
use crate::wire::zone::Anchors;

use super::parties::{self, Parties};
use super::tools::read_tools;

/// The members of a context that something depends on.
const NAMES: &[(&str, Leniency)] = &[
    ("session", Leniency::MisspeltSession),
    ("user", Leniency::MisspeltUser),
    ("agent", Leniency::MisspeltAgent),
    ("stepId", Leniency::MisspeltStepId),
    ("turnId", Leniency::MisspeltTurnId),
];

/// The members of an agent that something depends on, beside its names.
const OF_AGENT: &[(&str, Leniency)] = &[
    ("instructions", Leniency::MisspeltMember),
    ("instruction", Leniency::MisspeltMember),
    ("description", Leniency::MisspeltMember),
    ("tools", Leniency::MisspeltMember),
    ("resources", Leniency::MisspeltMember),
];

/// The content of a context.
#[derive(Debug, Default)]
pub(in crate::wire) struct Context {
    pub(in crate::wire) agent: Option<Agent>,
    pub(in crate::wire) session: Option<SessionId>,
    pub(in crate::wire) user: Option<UserId>,
    /// The id of the step.
    pub(in crate::wire) step: Option<String>,
    /// The facts about the user behind the step.
    pub(in crate::wire) facts: Vec<Fact>,
    /// The id of its turn.
    pub(in crate::wire) turn: Option<String>,
    /// The sender and the receiver of a message between agents, if the context names them.
    pub(in crate::wire) parties: Option<Parties>,
    /// The remarks on the context.
    pub(in crate::wire) remarks: Vec<Remark>,
}

/// Reads a context: a `StepContext`, or the later revision's `{from: {agent, role}, to: {agent, role}}`.
///
/// If nothing in the context tells which of two parties is observed, it is the one that `likely` says.
///
/// # Errors
///
/// `-32602` when a field that we rely on has another type than AOS gives it, or when an agent has neither id nor name.
pub(in crate::wire) fn read(
    table: &Table<'_>,
    root: NodeId,
    node: NodeId,
    likely: parties::Likely,
    anchors: &mut Anchors,
) -> Result<Context, RpcError> {
    let request = Checked { table, root };
    request.expect(node, Kind::Object, "an object (StepContext)")?;
    let mut context = Context::default();
    let remarks = &mut context.remarks;
    let agent = request.object(node, "agent", "an object (Agent)")?;
    context.parties = parties::read(request, node, likely, anchors)?;
    let agent = agent.or(context.parties.as_ref().and_then(|parties| parties.agent));
    context.agent = agent.map(|agent| read_agent(request, agent, remarks)).transpose()?;
    context.session = id_of(request, node, "session", remarks)?.map(SessionId::new);
    // The later revision has an `identity`, a user's or a machine's, in the place of the user.
    context.user = match id_of(request, node, "user", remarks)? {
        Some(user) => Some(UserId::new(user)),
        None => id_of(request, node, "identity", remarks)?.map(UserId::new),
    };
    context.facts = who(request, node);
    context.step = table.text_of(node, "stepId").map(|id| id.into_owned());
    context.turn = table.text_of(node, "turnId").map(|id| id.into_owned());
    request.note_misspelt(node, NAMES, &mut context.remarks);
    request.note_misplaced(node, NAMES, &mut context.remarks);
    Ok(context)
}

/// Returns the facts about the user, or the identity in its place, and its organisation.
fn who(request: Checked<'_, '_>, context: NodeId) -> Vec<Fact> {
    let table = request.table;
    let user = ["user", "identity"].iter().find_map(|name| table.given(context, name));
    let Some(user) = user else { return Vec::new() };
    let organisation = table.given(user, "organization");
    let organisation = organisation.and_then(|organisation| {
        let kind = FactKind::UserOrganisation;
        fact_of(table, organisation, "name", kind).or_else(|| fact_of(table, organisation, "id", kind))
    });
    let name = fact_of(table, user, "name", FactKind::UserName);
    name.into_iter().chain(organisation).collect()
}

/// Returns the `id` of the object under this name, if there is one.
fn id_of(
    request: Checked<'_, '_>,
    context: NodeId,
    name: &str,
    remarks: &mut Vec<Remark>,
) -> Result<Option<String>, RpcError> {
    match request.object(context, name, "an object")? {
        Some(object) => request.id(object, "id", remarks),
        None => Ok(None),
    }
}

fn read_agent(request: Checked<'_, '_>, node: NodeId, remarks: &mut Vec<Remark>) -> Result<Agent, RpcError> {
    request.note_misspelt(node, OF_AGENT, remarks);
    let name = request.string(node, "name")?;
    let Some(id) = request.string(node, "id")?.or_else(|| name.clone()) else {
        let expected = "an agent with an `id` or a `name`";
        return Err(RpcError::invalid_params(request.pointer(node), expected, "neither"));
    };
    Ok(Agent {
        id: Some(AgentId::new(id)),
        name,
        tools: read_tools(request, request.table.given(node, "tools"), remarks)?,
    })
}
