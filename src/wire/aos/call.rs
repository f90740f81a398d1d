//! The arguments of a call: `inputs` of a `ToolCallRequest` (3.15), and everything else that a client puts beside them.
//!
//! A tool gets what the client passes on, not what a protocol defines. So every member of a call that is not known to be something
//! else is an argument, wherever it stands and whatever it is called.

use std::borrow::Cow;

use crate::model::{Argument, Pointer, Remark};
use crate::wire::draft::{CallDraft, Checked, note};
use crate::wire::json::{self, Bounds, Kind, NodeId, Table, push_index, push_key};
use crate::wire::jsonrpc::RpcError;
use crate::wire::leniency::Leniency;

/// Members of a `ToolCallRequest` that are no arguments.
const OF_CALL: &[&str] = &["executionId", "toolId", "inputs"];
/// Members of the parameters of `steps/toolCallRequest` that are no arguments.
const OF_PARAMS: &[&str] = &["context", "toolCallRequest", "reasoning", "metadata", "executionId"];
/// Names under which clients pass all arguments at once.
const ALL_AT_ONCE: &[&str] = &["arguments", "parameters", "input", "inputs", "args", "params", "kwargs"];
/// Arguments that are read of a text: more are judged as the text that they are.
const MAX_IN_TEXT: usize = 256;

/// Reads the call of a `steps/toolCallRequest`.
pub(super) fn read(request: Checked<'_, '_>, params: NodeId, remarks: &mut Vec<Remark>) -> Result<CallDraft, RpcError> {
    let table = request.table;
    let call = request.required_object(params, "toolCallRequest", "an object (ToolCallRequest)")?;
    let tool_node = request.required(call, "toolId", "a string")?;
    request.expect(tool_node, Kind::String, "a string")?;
    let mut arguments = Vec::new();
    if let Some(inputs) = table.given(call, "inputs") {
        read_inputs(request, inputs, &mut arguments, remarks)?;
    }
    let elsewhere = Elsewhere { request, remarks };
    elsewhere.read(call, OF_CALL, &mut arguments);
    let elsewhere = Elsewhere { request, remarks };
    elsewhere.read(params, OF_PARAMS, &mut arguments);
    Ok(CallDraft {
        tool: table.text(tool_node).unwrap_or_default().into_owned(),
        tool_node,
        arguments,
    })
}

/// Reads `inputs`: an array of values with their names; of values alone; one of either; or an object that names them.
fn read_inputs(
    request: Checked<'_, '_>,
    inputs: NodeId,
    arguments: &mut Vec<Argument>,
    remarks: &mut Vec<Remark>,
) -> Result<(), RpcError> {
    let table = request.table;
    let here = request.pointer(inputs);
    match table.kind(inputs) {
        Kind::Array => {
            for (index, input) in table.children(inputs).enumerate() {
                let mut pointer = here.clone();
                push_index(&mut pointer, index);
                read_input(request, input, pointer, arguments, remarks)?;
            }
        }
        Kind::Object if is_named_value(table, inputs) => {
            note(remarks, here.clone(), Leniency::SingleForList);
            read_input(request, inputs, here, arguments, remarks)?;
        }
        Kind::Object | Kind::String => {
            note(remarks, here, Leniency::ArgumentsElsewhere);
            arguments.extend(arguments_of(request, inputs));
        }
        _ => return Err(request.wrong(inputs, "an array of ToolArgumentValue")),
    }
    Ok(())
}

/// Returns `true` if an object is one value with its name, rather than an object of values by their names.
pub(super) fn is_named_value(table: &Table<'_>, input: NodeId) -> bool {
    let named = ["name", "id"].iter().any(|name| table.text_of(input, name).is_some());
    let known = |member: NodeId| matches!(table.key(member).as_deref(), Some("name" | "id" | "value"));
    named && table.member(input, "value").is_some() && table.children(input).all(known)
}

/// Reads one `ToolArgumentValue`. Everything that it holds beside its name is a value of it.
fn read_input(
    request: Checked<'_, '_>,
    input: NodeId,
    pointer: String,
    arguments: &mut Vec<Argument>,
    remarks: &mut Vec<Remark>,
) -> Result<(), RpcError> {
    let table = request.table;
    if table.kind(input) != Kind::Object {
        note(remarks, pointer.clone(), Leniency::ArgumentsElsewhere);
        arguments.push(request.argument(String::new(), pointer, Some(input)));
        return Ok(());
    }
    let name = match request.string(input, "name")? {
        Some(name) => name,
        None => request.string(input, "id")?.unwrap_or_default(),
    };
    let mut given = false;
    for member in table.children(input) {
        let key = table.key(member).unwrap_or_default();
        if matches!(key.as_ref(), "name" | "id") {
            continue;
        }
        let mut pointer = pointer.clone();
        push_key(&mut pointer, &key);
        if key != "value" {
            note(remarks, pointer.clone(), Leniency::ArgumentsElsewhere);
        }
        arguments.push(request.argument(name.clone(), pointer, Some(member)));
        given = true;
    }
    if !given {
        let mut pointer = pointer;
        push_key(&mut pointer, "value");
        arguments.push(request.argument(name, pointer, None));
    }
    Ok(())
}

/// Members of a call that its protocol does not define.
pub(in crate::wire) struct Elsewhere<'r, 't, 'j> {
    pub(in crate::wire) request: Checked<'t, 'j>,
    pub(in crate::wire) remarks: &'r mut Vec<Remark>,
}

impl Elsewhere<'_, '_, '_> {
    /// Reads every member of `holder` but the known ones as an argument.
    pub(in crate::wire) fn read(self, holder: NodeId, known: &[&str], arguments: &mut Vec<Argument>) {
        let (request, table) = (self.request, self.request.table);
        let here = request.pointer(holder);
        for member in table.children(holder) {
            let key = table.key(member).unwrap_or_default();
            if known.contains(&key.as_ref()) || table.kind(member) == Kind::Null {
                continue;
            }
            let mut pointer = here.clone();
            push_key(&mut pointer, &key);
            note(self.remarks, pointer.clone(), Leniency::ArgumentsElsewhere);
            if ALL_AT_ONCE.contains(&key.as_ref()) {
                arguments.extend(arguments_of(request, member));
            } else {
                arguments.push(request.argument(key.into_owned(), pointer, Some(member)));
            }
        }
    }
}

/// Returns the arguments that a value holds: the members of an object, also of one that is written as a text; else the value itself.
pub(in crate::wire) fn arguments_of(request: Checked<'_, '_>, value: NodeId) -> Vec<Argument> {
    let table = request.table;
    let here = request.pointer(value);
    let whole = || vec![request.argument(String::new(), here.clone(), Some(value))];
    match table.kind(value) {
        Kind::Object => table
            .children(value)
            .map(|member| {
                let name = table.key(member).unwrap_or_default();
                let mut pointer = here.clone();
                push_key(&mut pointer, &name);
                request.argument(name.into_owned(), pointer, Some(member))
            })
            .collect(),
        Kind::String => {
            let text = table.text(value).unwrap_or_default();
            arguments_in_text(&text, &here).unwrap_or_else(whole)
        }
        Kind::Null => Vec::new(),
        Kind::Array | Kind::Bool | Kind::Number => whole(),
    }
}

/// Returns the members of an object that is written as a text, as OpenAI's interface has it. All of them stand where the text stands.
fn arguments_in_text(text: &str, pointer: &str) -> Option<Vec<Argument>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let bounds = Bounds {
        depth: 64,
        values: 20_000,
        bytes: text.len(),
    };
    let table = json::parse(text.as_bytes(), bounds).ok()?;
    let members: Vec<NodeId> = table.children(Table::ROOT).take(MAX_IN_TEXT + 1).collect();
    let argument = |member: NodeId| Argument {
        name: table.key(member).map(Cow::into_owned).unwrap_or_default(),
        pointer: Pointer::new(pointer),
        json: table.raw(member).to_owned(),
    };
    (members.len() <= MAX_IN_TEXT).then(|| members.into_iter().map(argument).collect())
}
