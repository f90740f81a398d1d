//! The sender and the receiver of a message between agents: `A2AContext` of the final AOS (3.16), `{from: {agent, role}, to: {agent, role}}`.
//!
//! The observed agent is on either side. It knows itself whole, and of the other only what that agent's card says: `url`, `name`, `version` and
//! `identity`. So the observed party is the one with more details; if both have as many, the one whose role is that of the setting; if no role says
//! so, the one at the end where such an agent would stand.

use crate::model::named_enum;
use crate::wire::draft::Checked;
use crate::wire::json::{Kind, NodeId};
use crate::wire::jsonrpc::RpcError;
use crate::wire::zone::Anchors;

use super::shape::remote_party_zone;

named_enum! {
    /// The side of A2A that an agent is on.
    #[derive(Default)]
    Side {
        /// It asks: its requests go out, answers come in.
        #[default]
        Client = "client",
        /// It serves: requests come in, its answers go out.
        Server = "server",
    }
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// An end of a message: its sender, or its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum End {
    From,
    To,
}

/// The expectation about the observed agent, for a context that does not tell.
#[derive(Clone, Copy, Debug)]
pub(in crate::wire) struct Likely {
    pub(in crate::wire) side: Side,
    pub(in crate::wire) end: End,
}

/// The content of a context about the parties to a message.
#[derive(Clone, Copy, Debug)]
pub(in crate::wire) struct Parties {
    /// The end of the observed agent.
    pub(in crate::wire) end: End,
    /// Its role, if one is written.
    pub(in crate::wire) role: Option<Side>,
    /// Its description.
    pub(in crate::wire) agent: Option<NodeId>,
}

#[derive(Clone, Copy)]
struct Party {
    node: NodeId,
    end: End,
    agent: Option<NodeId>,
    role: Option<Side>,
    detail: Detail,
}

/// The amount of detail about an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// The details that its card shows to everyone.
    Card,
    /// More.
    More,
    /// Details that only the agent itself knows: its instructions, its tools, its model.
    Own,
}

/// Reads both parties, and puts the one that is not observed into the zone of a remote agent.
pub(super) fn read(
    request: Checked<'_, '_>,
    context: NodeId,
    likely: Likely,
    anchors: &mut Anchors,
) -> Result<Option<Parties>, RpcError> {
    let from = party(request, context, "from", End::From)?;
    let to = party(request, context, "to", End::To)?;
    let Some(observed) = observed(from, to, likely) else {
        return Ok(None);
    };
    let other = [from, to].into_iter().flatten().find(|party| party.end != observed.end);
    if let Some(other) = other {
        anchors.set(other.node, remote_party_zone());
    }
    Ok(Some(Parties {
        end: observed.end,
        role: observed.role.or(other.and_then(|other| other.role).map(Side::other)),
        agent: observed.agent,
    }))
}

fn party(request: Checked<'_, '_>, context: NodeId, name: &str, end: End) -> Result<Option<Party>, RpcError> {
    let Some(node) = request.object(context, name, "an object `{agent, role}`")? else {
        return Ok(None);
    };
    let agent = request.object(node, "agent", "an object (Agent)")?;
    Ok(Some(Party {
        node,
        end,
        agent,
        role: request
            .table
            .text_of(node, "role")
            .and_then(|role| Side::from_name(&role)),
        detail: agent.map_or(Detail::Card, |agent| detail(request, agent)),
    }))
}

fn observed(from: Option<Party>, to: Option<Party>, likely: Likely) -> Option<Party> {
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) => (from, to),
        (one, other) => return one.or(other),
    };
    if from.detail != to.detail {
        return Some(if from.detail > to.detail { from } else { to });
    }
    let has_role = |party: &Party| party.role == Some(likely.side);
    match (has_role(&from), has_role(&to)) {
        (true, false) => Some(from),
        (false, true) => Some(to),
        (true, true) | (false, false) => Some(match likely.end {
            End::From => from,
            End::To => to,
        }),
    }
}

fn detail(request: Checked<'_, '_>, agent: NodeId) -> Detail {
    let table = request.table;
    let says_something = |node: &NodeId| match table.kind(*node) {
        Kind::Null => false,
        Kind::String => table.text(*node).is_some_and(|text| !text.trim().is_empty()),
        Kind::Array | Kind::Object => table.children(*node).next().is_some(),
        Kind::Bool | Kind::Number => true,
    };
    table
        .children(agent)
        .filter(says_something)
        .map(|member| match table.key(member).as_deref() {
            Some("url" | "name" | "version" | "identity") | None => Detail::Card,
            Some("instructions" | "instruction" | "tools" | "model" | "mcpServers" | "resources") => Detail::Own,
            Some(_) => Detail::More,
        })
        .max()
        .unwrap_or(Detail::Card)
}
