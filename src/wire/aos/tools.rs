//! Definitions of tools, as an agent lists them.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::model::{ArgumentDefinition, Remark, Tool};
use crate::wire::draft::{Checked, note};
use crate::wire::json::{Kind, NodeId, Table};
use crate::wire::jsonrpc::RpcError;
use crate::wire::leniency::Leniency;

/// Reads `tools`: missing, `null`, an array of definitions, or one definition.
pub(super) fn read_tools(
    request: Checked<'_, '_>,
    tools: Option<NodeId>,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<Tool>, RpcError> {
    let Some(tools) = tools else { return Ok(Vec::new()) };
    let definitions = request.items(tools, "an array of tool definitions", remarks)?;
    let read = |tool| read_tool(request, tool, remarks);
    definitions.into_iter().map(read).collect()
}

fn read_tool(request: Checked<'_, '_>, node: NodeId, remarks: &mut Vec<Remark>) -> Result<Tool, RpcError> {
    let table = request.table;
    request.expect(node, Kind::Object, "an object (ToolDefinition)")?;
    // OpenAI's interface: `{"type": "function", "function": {…}}`.
    let inside = table.given(node, "function");
    let names = match inside.and_then(|inside| declared_name(table, inside)) {
        Some((id, name)) => {
            note(remarks, request.pointer(node), Leniency::FunctionTool);
            Some((table.text_of(node, "id").map_or(id, Cow::into_owned), name))
        }
        None => declared_name(table, node),
    };
    let Some((id, name)) = names else {
        let expected = "a tool with an `id` or a `name`";
        return Err(RpcError::invalid_params(request.pointer(node), expected, "neither"));
    };
    let node = inside
        .filter(|inside| table.kind(*inside) == Kind::Object)
        .unwrap_or(node);
    let arguments = match table.given(node, "arguments") {
        Some(list) if table.kind(list) == Kind::Array => Some(read_arguments(request, list)?),
        Some(schema) if table.kind(schema) == Kind::Object => schema_arguments(table, schema),
        Some(other) => return Err(request.wrong(other, "an array of argument definitions or null")),
        // AOS writes null for a tool without arguments; many agents write it where they do not know.
        None => ["inputSchema", "parameters", "input_schema"]
            .iter()
            .find_map(|name| table.given(node, name))
            .and_then(|schema| schema_arguments(table, schema)),
    };
    Ok(Tool {
        id,
        name,
        description: table.text_of(node, "description").map(Cow::into_owned),
        arguments,
    })
}

/// Returns the id and the name of a tool; each stands in for the other.
fn declared_name(table: &Table<'_>, node: NodeId) -> Option<(String, String)> {
    let id = table.text_of(node, "id").map(Cow::into_owned);
    let name = table.text_of(node, "name").map(Cow::into_owned);
    let first = id.clone().or_else(|| name.clone())?;
    let second = name.or(id)?;
    Some((first, second))
}

fn read_arguments(request: Checked<'_, '_>, list: NodeId) -> Result<Vec<ArgumentDefinition>, RpcError> {
    let table = request.table;
    let read = |node| {
        request.expect(node, Kind::Object, "an object (ToolArgumentDefinition)")?;
        let name = table.text_of(node, "name").or_else(|| table.text_of(node, "id"));
        Ok(ArgumentDefinition {
            name: name.unwrap_or_default().into_owned(),
            type_name: table.text_of(node, "type").map(Cow::into_owned),
            required: table
                .member(node, "required")
                .is_some_and(|flag| table.raw(flag) == "true"),
        })
    };
    table.children(list).map(read).collect()
}

/// Returns the arguments that a JSON Schema declares under `properties`; `None` if it declares none.
pub(in crate::wire) fn schema_arguments(table: &Table<'_>, schema: NodeId) -> Option<Vec<ArgumentDefinition>> {
    let properties = table.given(schema, "properties")?;
    if table.kind(properties) != Kind::Object {
        return None;
    }
    let required: HashSet<_> = table
        .given(schema, "required")
        .map(|list| table.children(list).filter_map(|name| table.text(name)).collect())
        .unwrap_or_default();
    let arguments = table.children(properties).filter_map(|property| {
        let name = table.key(property)?;
        Some(ArgumentDefinition {
            required: required.contains(&name),
            name: name.into_owned(),
            type_name: table.text_of(property, "type").map(Cow::into_owned),
        })
    });
    Some(arguments.collect())
}
