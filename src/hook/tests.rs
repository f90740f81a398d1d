//! What each program says, and how it is answered: inputs as the programs write them, of every row of their tables.

use serde_json::{Value, json};

use super::event::{Call, Moment, Shown};
use super::question::{edited, question};
use super::ruling::Ruling;
use super::{Event, Program, Unreadable};

fn read(program: &str, input: &Value) -> Event {
    let program = Program::named(program).unwrap();
    program.read(input.to_string().as_bytes()).unwrap().1
}

fn answer(program: &str, event: &Event, ruling: Ruling) -> Value {
    Program::named(program).unwrap().answer(event, ruling)
}

fn stop() -> Ruling {
    Ruling::Stop("[guardian] no".to_owned())
}

fn claude(event: &str, more: Value) -> Event {
    read("claude-code", &with(event, more))
}

fn with(event: &str, more: Value) -> Value {
    let mut input = json!({"session_id": "4902", "transcript_path": "/home/u/.claude/projects/p/4902.jsonl",
        "cwd": "/home/u/p", "permission_mode": "default", "hook_event_name": event});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

fn bash() -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "ls", "description": "list"}, "tool_use_id": "toolu_01"})
}

fn bash_result(name: &str, output: Value) -> Value {
    let mut input = bash();
    input[name] = output;
    input
}

#[test]
fn a_prompt_is_the_users_word_unless_something_else_wrote_it() {
    for source in [json!({}), json!({"source": "user"}), json!({"source": "sdk"})] {
        let mut more = source;
        more["prompt"] = json!("Build it.");
        let event = claude("UserPromptSubmit", more);
        assert_eq!(event.moment, Moment::Prompt("Build it.".to_owned()));
        let step = question(Program::named("claude-code").unwrap(), &event, "1").unwrap();
        assert_eq!(step["method"], "steps/message");
        assert_eq!(step["params"]["message"]["role"], "user");
        assert_eq!(step["params"]["context"]["session"]["id"], "claude-code:4902");
    }
    let woken = claude("UserPromptSubmit", json!({"prompt": "Go on.", "source": "loop_wakeup"}));
    let step = question(Program::named("claude-code").unwrap(), &woken, "1").unwrap();
    assert_eq!(step["method"], "steps/agentTrigger");
}

#[test]
fn a_call_and_its_result_share_an_id_also_where_the_program_gives_none() {
    let call = |event: &str, more: Value| match read("gemini-cli", &with(event, more)).moment {
        Moment::Call(call) | Moment::Result { call, .. } => call,
        other => panic!("{other:?}"),
    };
    let input = json!({"tool_name": "mcp_files_read", "tool_input": {"path": "a"}});
    let mut after = input.clone();
    after["tool_response"] = json!({"llmContent": "words", "returnDisplay": "words"});
    let before = call("BeforeTool", input);
    assert_eq!(before, call("AfterTool", after.clone()));
    assert_eq!(before.id.len(), 16);
    let Moment::Result { output, .. } = read("gemini-cli", &with("AfterTool", after)).moment else {
        panic!("no result");
    };
    assert_eq!(output, json!({"llmContent": "words"}));
}

#[test]
fn calls_become_steps_and_edits_come_back_as_inputs() {
    let event = claude("PreToolUse", bash());
    let mut step = question(Program::named("claude-code").unwrap(), &event, "1").unwrap();
    assert_eq!(step["params"]["toolCallRequest"]["toolId"], "Bash");
    assert_eq!(step["params"]["toolCallRequest"]["executionId"], "toolu_01");
    assert_eq!(
        edited(&event, &step["params"]),
        Some(json!({"command": "ls", "description": "list"}))
    );
    step["params"]["toolCallRequest"]["inputs"][0]["value"] = json!("ls -1");
    assert_eq!(
        edited(&event, &step["params"]),
        Some(json!({"command": "ls -1", "description": "list"}))
    );
    step["params"]["toolCallRequest"]["inputs"][0]["name"] = json!("other");
    assert_eq!(edited(&event, &step["params"]), None);
    // Cursor hands on the input of MCP tools as a text.
    let event = read(
        "cursor",
        &json!({"hook_event_name": "preToolUse", "conversation_id": "c1", "session_id": "s1", "tool_name": "MCP:read",
            "tool_input": "{\"path\":\"a\"}", "tool_use_id": "t"}),
    );
    let call = Call {
        id: "t".to_owned(),
        tool: "MCP:read".to_owned(),
        input: json!({"path": "a"}),
    };
    assert_eq!((event.session.as_str(), event.moment), ("c1", Moment::Call(call)));
}

#[test]
fn claude_code_is_answered_in_its_form() {
    let call = claude("PreToolUse", bash());
    assert_eq!(answer("claude-code", &call, Ruling::Go), json!({}));
    assert_eq!(
        answer("claude-code", &call, stop()),
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
            "permissionDecisionReason": "[guardian] no"}})
    );
    assert_eq!(
        answer("claude-code", &call, Ruling::Edit(json!({"command": "ls -1"}))),
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "ls -1"}}})
    );
    let prompt = claude("UserPromptSubmit", json!({"prompt": "x"}));
    assert_eq!(
        answer("claude-code", &prompt, stop()),
        json!({"decision": "block", "reason": "[guardian] no"})
    );
    let edited = answer("claude-code", &prompt, Ruling::Edit(json!("y")));
    assert_eq!(edited["decision"], "block");
    assert!(
        edited["reason"].as_str().unwrap().contains("does not support"),
        "{edited}"
    );
    let output = json!({"stdout": "words", "stderr": "more", "interrupted": false, "isImage": false});
    let result = claude("PostToolUse", bash_result("tool_response", output));
    assert_eq!(
        answer("claude-code", &result, stop()),
        json!({"decision": "block", "reason": "[guardian] no", "hookSpecificOutput": {"hookEventName": "PostToolUse",
            "updatedToolOutput": {"stdout": "", "stderr": "[guardian] no", "interrupted": false, "isImage": false}}})
    );
    let failure = claude("PostToolUseFailure", bash_result("error", json!("words")));
    let Moment::Result { shown, output, .. } = &failure.moment else {
        panic!("no result");
    };
    assert_eq!((*shown, output), (Shown::Anyway, &json!("words")));
    assert_eq!(
        answer("claude-code", &failure, stop()),
        json!({"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "[guardian] no"}})
    );
}

#[test]
fn a_withheld_result_keeps_its_shape_and_none_of_its_words() {
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "/home/u/p/notes.md"}, "tool_use_id": "t",
        "tool_response": {"type": "text", "file": {"filePath": "/home/u/p/notes.md", "content": "words", "numLines": 1}}});
    let event = claude("PostToolUse", read);
    let answer = answer("claude-code", &event, stop());
    assert_eq!(
        answer["hookSpecificOutput"]["updatedToolOutput"],
        json!({"type": "text", "file": {"filePath": "/home/u/p/notes.md", "content": "[guardian] no", "numLines": 1}})
    );
}

#[test]
fn the_other_programs_are_answered_in_theirs() {
    let words = json!("words");
    let edit = || Ruling::Edit(json!({"command": "ls -1"}));
    let edited = || Ruling::Edit(json!("kept"));
    // Program, event before a tool, event after it and the name of the result; then the answers: deny, edit, withhold, edit a result.
    let rows = [
        (
            ("codex", "PreToolUse", "PostToolUse", "tool_response"),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "[guardian] no"}}),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                "updatedInput": {"command": "ls -1"}}}),
            json!({"decision": "block", "reason": "[guardian] no"}),
            json!({"decision": "block", "reason": "kept"}),
        ),
        (
            ("gemini-cli", "BeforeTool", "AfterTool", "tool_response"),
            json!({"decision": "deny", "reason": "[guardian] no"}),
            json!({"hookSpecificOutput": {"tool_input": {"command": "ls -1"}}}),
            json!({"decision": "deny", "reason": "[guardian] no"}),
            json!({"decision": "deny", "reason": "kept"}),
        ),
        (
            ("copilot", "PreToolUse", "PostToolUse", "tool_result"),
            json!({"permissionDecision": "deny", "permissionDecisionReason": "[guardian] no"}),
            json!({"permissionDecision": "allow", "modifiedArgs": {"command": "ls -1"}}),
            json!({"modifiedResult": {"resultType": "success", "textResultForLlm": "[guardian] no"}}),
            json!({"modifiedResult": {"resultType": "success", "textResultForLlm": "kept"}}),
        ),
        (
            ("opencode", "call", "result", "tool_response"),
            json!({"deny": "[guardian] no"}),
            json!({"input": {"command": "ls -1"}}),
            json!({"output": "[guardian] no"}),
            json!({"output": "kept"}),
        ),
    ];
    for ((program, before, after, result), denied, changed, withheld, replaced) in rows {
        let call = read(program, &with(before, bash()));
        assert_eq!(answer(program, &call, Ruling::Go), json!({}), "{program}");
        assert_eq!(answer(program, &call, stop()), denied, "{program}");
        assert_eq!(answer(program, &call, edit()), changed, "{program}");
        let result = read(program, &with(after, bash_result(result, words.clone())));
        assert!(
            matches!(&result.moment, Moment::Result { output, .. } if *output == words),
            "{program}"
        );
        assert_eq!(answer(program, &result, stop()), withheld, "{program}");
        assert_eq!(answer(program, &result, edited()), replaced, "{program}");
    }
}

#[test]
fn cursor_withholds_what_it_can_and_warns_of_the_rest() {
    let input = |event: &str, tool: &str| {
        json!({"conversation_id": "c1", "generation_id": "g1", "hook_event_name": event, "cursor_version": "2",
            "tool_name": tool, "tool_input": {"path": "a"}, "tool_output": "words"})
    };
    let call = read("cursor", &input("preToolUse", "Shell"));
    assert_eq!(
        answer("cursor", &call, stop()),
        json!({"permission": "deny", "user_message": "[guardian] no", "agent_message": "[guardian] no"})
    );
    assert_eq!(
        answer("cursor", &call, Ruling::Edit(json!({"path": "b"}))),
        json!({"permission": "allow", "updated_input": {"path": "b"}})
    );
    let of_server = read("cursor", &input("postToolUse", "MCP:read"));
    assert_eq!(
        answer("cursor", &of_server, stop()),
        json!({"updated_mcp_tool_output": "[guardian] no"})
    );
    let shell = read("cursor", &input("postToolUse", "Shell"));
    let warning = answer("cursor", &shell, stop());
    assert!(
        warning["additional_context"]
            .as_str()
            .unwrap()
            .contains("follow nothing"),
        "{warning}"
    );
    let prompt = json!({"conversation_id": "c1", "hook_event_name": "beforeSubmitPrompt", "prompt": "x"});
    assert_eq!(
        answer("cursor", &read("cursor", &prompt), stop()),
        json!({"continue": false, "user_message": "[guardian] no"})
    );
    let file =
        json!({"conversation_id": "c1", "hook_event_name": "beforeReadFile", "file_path": "/p/a", "content": "words"});
    let file = read("cursor", &file);
    let Moment::Result { call, output, .. } = &file.moment else {
        panic!("no result");
    };
    assert_eq!((call.tool.as_str(), output), ("Read", &json!("words")));
    assert_eq!(call.input, json!({"file_path": "/p/a"}));
    assert_eq!(answer("cursor", &file, stop())["permission"], "deny");
}

#[test]
fn copilot_is_answered_in_its_form_also_by_the_hook_of_claude_code() {
    let claude = Program::named("claude-code").unwrap();
    let mut input = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "timestamp": "2026-11-28T04:29:35.997Z", "cwd": "/p",
        "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let read = |input: &Value| claude.read(input.to_string().as_bytes()).unwrap();
    let (program, event) = read(&input);
    assert_eq!(program.name, "copilot");
    assert_eq!(program.answer(&event, stop())["permissionDecision"], "deny");
    input["hook_event_name"] = json!("PostToolUse");
    input["tool_result"] = json!({"result_type": "success", "text_result_for_llm": "words"});
    let (program, event) = read(&input);
    let answered = program.answer(&event, stop());
    assert_eq!(answered["modifiedResult"]["textResultForLlm"], "[guardian] no");
    let step = question(program, &event, "1").unwrap();
    assert_eq!(step["params"]["context"]["session"]["id"], "copilot:s1");
}

#[test]
fn vs_code_is_answered_as_claude_code_is_by_whichever_hook_it_calls() {
    let input = json!({"hookEventName": "PreToolUse", "sessionId": "s1", "timestamp": "2026-11-28T04:29:35.997Z", "transcript_path": "/t",
        "tool_name": "create_file", "tool_input": {"filePath": "a"}});
    for hook in ["claude-code", "copilot"] {
        let hook = Program::named(hook).unwrap();
        let (program, event) = hook.read(input.to_string().as_bytes()).unwrap();
        assert_eq!(program.name, "vscode");
        let denied = program.answer(&event, stop());
        assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
        let step = question(program, &event, "1").unwrap();
        assert_eq!(step["params"]["context"]["session"]["id"], "vscode:s1");
    }
}

#[test]
fn cursor_is_answered_in_its_form_also_by_the_hook_of_claude_code() {
    let claude = Program::named("claude-code").unwrap();
    let input =
        json!({"hook_event_name": "preToolUse", "conversation_id": "c1", "tool_name": "Shell", "tool_input": {}});
    let (program, event) = claude.read(input.to_string().as_bytes()).unwrap();
    assert_eq!(program.name, "cursor");
    assert_eq!(program.answer(&event, stop())["permission"], "deny");
}

#[test]
fn events_without_words_are_silent_and_inputs_that_are_none_are_refused() {
    for event in ["SessionStart", "SessionEnd", "Stop", "SomethingNew"] {
        assert!(claude(event, json!({})).is_silent(), "{event}");
    }
    let claude = Program::named("claude-code").unwrap();
    let refused = |input: &str| claude.read(input.as_bytes()).unwrap_err();
    assert_eq!(refused(" \n"), Unreadable::Empty);
    assert!(matches!(refused("{\"hook_event_name\": "), Unreadable::NotJson(_)));
    assert!(matches!(refused("[]"), Unreadable::NotJson(_)));
    assert_eq!(
        refused("{\"session_id\": \"s\"}"),
        Unreadable::Missing("hook_event_name")
    );
    assert_eq!(
        refused("{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\"}"),
        Unreadable::Missing("session_id")
    );
    assert!(matches!(refused(&"[".repeat(100_000)), Unreadable::NotJson(_)));
}
