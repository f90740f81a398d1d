"""Claude Agent SDK: `query(prompt=…, options=guard_options(options, Guardian()))`.

docs/clients.md says what it cannot stop: files named with `@`, tools of the API, partial messages.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, HookMatcher, ResultMessage, TextBlock

from .client import AsyncGuardian, Guardian
from .verdict import NOT_EDITABLE, Denied

#: Their results tell nothing that the model did not write itself, or read before.
WRITES = ("Write", "Edit", "NotebookEdit")


def guard_options(options: ClaudeAgentOptions, guardian: Guardian | AsyncGuardian) -> ClaudeAgentOptions:
    """A copy of the options whose hooks judge prompts, calls and results. The session is Claude's."""
    guards = _Guards(guardian.awaitable())
    hooks: dict[Any, Any] = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
    for event, hook in {
        "UserPromptSubmit": guards.prompt,
        "PreToolUse": guards.call,
        "PostToolUse": guards.result,
        "PostToolUseFailure": guards.failure,
        "PostToolBatch": guards.batch,
    }.items():
        # Without "block", a hook that fails or is too slow lets the step pass.
        matcher = HookMatcher(hooks=[hook], timeout=guardian.timeout + 5, on_failure="block")
        hooks.setdefault(event, []).append(matcher)
    return dataclasses.replace(options, hooks=hooks)


async def guard_messages(messages: AsyncIterator[Any], guardian: Guardian | AsyncGuardian) -> AsyncIterator[Any]:
    """The messages of a query, with the texts of the agent judged: hooks cannot withhold them."""
    guardian = guardian.awaitable()
    async for message in messages:
        session = getattr(message, "session_id", None)
        judge = guardian.in_session(session) if session else guardian
        if isinstance(message, AssistantMessage):
            content = [
                TextBlock(await _text(judge, each.text)) if isinstance(each, TextBlock) else each for each in message.content
            ]
            message = dataclasses.replace(message, content=content)
        elif isinstance(message, ResultMessage) and message.result:
            message = dataclasses.replace(message, result=await _text(judge, message.result))
        yield message


async def _text(guardian: AsyncGuardian, text: str) -> str:
    try:
        return await guardian.guard_answer(text)
    except Denied as denied:
        return str(denied)


class _Guards:
    def __init__(self, guardian: AsyncGuardian):
        self.guardian = guardian
        #: Reasons by call, where a denied result could not be replaced: they end the turn before the model reads it.
        self.unhidden: dict[str, str] = {}

    def of(self, given: Any) -> AsyncGuardian:
        return self.guardian.in_session(given["session_id"], turn=given.get("prompt_id"), agent="claude")

    async def prompt(self, given: Any, _id: str | None, _context: Any) -> Any:
        try:
            if await self.of(given).guard_user(given["prompt"]) != given["prompt"]:
                raise Denied(NOT_EDITABLE)
            return {}
        except Denied as denied:
            return {"decision": "block", "reason": str(denied)}

    async def call(self, given: Any, _id: str | None, _context: Any) -> Any:
        answer: dict[str, Any] = {"hookEventName": "PreToolUse"}
        try:
            edited = await self.of(given).guard_tool_call(given["tool_name"], given["tool_input"], given["tool_use_id"])
        except Denied as denied:
            return {"hookSpecificOutput": {**answer, "permissionDecision": "deny", "permissionDecisionReason": str(denied)}}
        # Saying "allow" would skip the user's own permissions.
        return {} if edited is given["tool_input"] else {"hookSpecificOutput": {**answer, "updatedInput": edited}}

    async def result(self, given: Any, _id: str | None, _context: Any) -> Any:
        output = given["tool_response"]
        if _is_unread(given["tool_name"], output):
            return {}
        try:
            edited = await self.of(given).guard_tool_result(given["tool_use_id"], output)
        except Denied as denied:
            edited = _withheld(given["tool_name"], output, str(denied))
            if edited is None:
                self.unhidden[given["tool_use_id"]] = str(denied)
                return {}
        if edited is output:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": edited}}

    async def failure(self, given: Any, _id: str | None, _context: Any) -> Any:
        try:
            if await self.of(given).guard_tool_result(given["tool_use_id"], given["error"], is_error=True) != given["error"]:
                raise Denied(NOT_EDITABLE)
        except Denied as denied:  # the text of an error cannot be replaced
            self.unhidden[given["tool_use_id"]] = str(denied)
        return {}

    async def batch(self, given: Any, _id: str | None, _context: Any) -> Any:
        ids = [call["tool_use_id"] for call in given["tool_calls"]]
        reasons = [self.unhidden.pop(each) for each in ids if each in self.unhidden]
        return {"continue_": False, "stopReason": reasons[0]} if reasons else {}


def _is_unread(tool: str, output: Any) -> bool:
    return tool in WRITES or (tool == "Read" and isinstance(output, dict) and output.get("type") in ("image", "pdf"))


def _withheld(tool: str, output: Any, text: str) -> Any:
    """The text in place of what was read, in the tool's own shape: another one would be ignored. None where it is not known."""
    if tool.startswith("mcp__"):
        return [{"type": "text", "text": text}]
    match tool, output:
        case "Bash", {"stdout": str()}:
            return {**output, "stdout": text, "stderr": ""}
        case "Read", {"type": "text", "file": {"content": str()} as file}:
            return {**output, "file": {**file, "content": text}}
        case "Grep" | "Glob", {"filenames": list()}:
            return {**output, "filenames": [text], **({"content": text} if "content" in output else {})}
        case "WebFetch", {"result": str()}:
            return {**output, "result": text}
    return None
