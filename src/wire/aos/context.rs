//! Who takes the step: the agent, the session and the user of a context.

use crate::model::{Agent, AgentId, SessionId, UserId};
use crate::wire::draft::Checked;
use crate::wire::json::{Kind, NodeId, Table};
use crate::wire::jsonrpc::RpcError;
use crate::wire::zone::Anchors;

use super::shape::remote_party_zone;
use super::tools::read_tools;

/// What a context says.
#[derive(Debug, Default)]
pub(in crate::wire) struct Context {
    pub(in crate::wire) agent: Option<Agent>,
    pub(in crate::wire) session: Option<SessionId>,
    pub(in crate::wire) user: Option<UserId>,
    /// The id of the step.
    pub(in crate::wire) step: Option<String>,
    /// The id of its turn.
    pub(in crate::wire) turn: Option<String>,
}

/// Reads a context: a `StepContext`, or the later revision's `{from: {agent, role}, to: {agent, role}}`.
///
/// # Errors
///
/// `-32602` when a field that we rely on has another type than AOS gives it, or when an agent has neither id nor name.
pub(in crate::wire) fn read(
    table: &Table<'_>,
    root: NodeId,
    node: NodeId,
    anchors: &mut Anchors,
) -> Result<Context, RpcError> {
    let request = Checked { table, root };
    request.expect(node, Kind::Object, "an object (StepContext)")?;
    let agent = match request.object(node, "agent", "an object (Agent)")? {
        Some(agent) => Some(read_agent(request, agent)?),
        None => read_observed_party(request, node, anchors)?,
    };
    Ok(Context {
        agent,
        session: id_of(request, node, "session")?.map(SessionId::new),
        user: id_of(request, node, "user")?.map(UserId::new),
        step: table.text_of(node, "stepId").map(|id| id.into_owned()),
        turn: table.text_of(node, "turnId").map(|id| id.into_owned()),
    })
}

/// The `id` of the object under this name, where there is one.
fn id_of(request: Checked<'_, '_>, context: NodeId, name: &str) -> Result<Option<String>, RpcError> {
    match request.object(context, name, "an object")? {
        Some(object) => request.string(object, "id"),
        None => Ok(None),
    }
}

fn read_agent(request: Checked<'_, '_>, node: NodeId) -> Result<Agent, RpcError> {
    let name = request.string(node, "name")?;
    let Some(id) = request.string(node, "id")?.or_else(|| name.clone()) else {
        let expected = "an agent with an `id` or a `name`";
        return Err(RpcError::invalid_params(request.pointer(node), expected, "neither"));
    };
    Ok(Agent {
        id: Some(AgentId::new(id)),
        name,
        tools: read_tools(request, request.table.given(node, "tools"))?,
    })
}

/// Of two sides the observed agent is the client, who calls us; where no role says so, the one it comes from.
fn read_observed_party(
    request: Checked<'_, '_>,
    context: NodeId,
    anchors: &mut Anchors,
) -> Result<Option<Agent>, RpcError> {
    let from = request.object(context, "from", "an object `{agent, role}`")?;
    let to = request.object(context, "to", "an object `{agent, role}`")?;
    let is_client = |party: &NodeId| request.table.text_of(*party, "role").as_deref() == Some("client");
    let observed = from.filter(is_client).or(to.filter(is_client)).or(from).or(to);
    for other in [from, to]
        .into_iter()
        .flatten()
        .filter(|party| Some(*party) != observed)
    {
        anchors.set(other, remote_party_zone());
    }
    let Some(party) = observed else { return Ok(None) };
    match request.object(party, "agent", "an object (Agent)")? {
        Some(agent) => Ok(Some(read_agent(request, agent)?)),
        None => Ok(None),
    }
}
