"""OpenAI Agents SDK: `guard_agent(agent, Guardian())` is a copy of the agent whose steps are judged.

docs/clients.md says what it cannot stop: hosted tools, local shell, computer and patch tools, and streamed text.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
from collections.abc import Callable
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    Handoff,
    InputGuardrail,
    OutputGuardrail,
    RunContextWrapper,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    get_current_trace,
)

from .client import AsyncGuardian, Guardian
from .steps import without_media
from .verdict import NOT_EDITABLE, Denied

log = logging.getLogger("aos_guardian")
SessionOf = Callable[[Any], str]


def guard_agent(agent: Agent[Any], guardian: Guardian | AsyncGuardian, session: SessionOf | None = None) -> Agent[Any]:
    """A copy of an agent, and of the agents that it hands over to.

    A denied call becomes a text that the model reads in place of the result. A denied or edited question ends the run with
    `InputGuardrailTripwireTriggered`, an answer with `OutputGuardrailTripwireTriggered`; `guardrail_result.output.output_info` has
    the reason, and the edited text under `edited`.

    `session` tells the session's id from the context that the run was given. Without it, it is the trace's group or id; where
    tracing is off, the guardian's own.
    """
    return _Guards(guardian.awaitable(), session).agent(agent)


class _Guards:
    def __init__(self, guardian: AsyncGuardian, session: SessionOf | None):
        self.guardian = guardian
        self.session = session
        self.done: dict[int, Agent[Any]] = {}

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        if id(agent) in self.done:
            return self.done[id(agent)]
        guards = self

        class Guarded(type(agent)):  # type: ignore[misc]
            async def get_mcp_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
                return [guards.tool(tool, agent) for tool in await super().get_mcp_tools(run_context)]

        guarded: Agent[Any] = copy.copy(agent)
        guarded.__class__ = Guarded
        self.done[id(agent)] = guarded
        guarded.tools = [self.tool(tool, agent) for tool in agent.tools]
        guarded.handoffs = [self.handoff(handoff) for handoff in agent.handoffs]
        guarded.input_guardrails = [*agent.input_guardrails, InputGuardrail(self.user, "guardian", run_in_parallel=False)]
        guarded.output_guardrails = [*agent.output_guardrails, OutputGuardrail(self.answer, "guardian")]
        return guarded

    def handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        if isinstance(handoff, Agent):
            return self.agent(handoff)
        hand_over = handoff.on_invoke_handoff

        async def invoke(context: RunContextWrapper[Any], arguments: str) -> Any:
            return self.agent(await hand_over(context, arguments))

        return dataclasses.replace(handoff, on_invoke_handoff=invoke)

    def tool(self, tool: Tool, agent: Agent[Any]) -> Tool:
        if not isinstance(tool, FunctionTool):
            log.warning("the tool `%s` of `%s` runs where the guardian does not see it", tool.name, agent.name)
            return tool
        guarded = copy.copy(tool)
        run = guarded.on_invoke_tool

        async def invoke(context: Any, arguments: str) -> Any:
            guardian = self.of(context, agent)
            try:
                given = await guardian.guard_tool_call(tool.name, _parsed(arguments), context.tool_call_id)
                output = await run(context, given if isinstance(given, str) else json.dumps(given))
                readable, whole = without_media(output, _is_media)
                return whole(await guardian.guard_tool_result(context.tool_call_id, readable))
            except Denied as denied:
                return str(denied)

        guarded.on_invoke_tool = invoke
        return guarded

    async def user(self, context: RunContextWrapper[Any], agent: Agent[Any], given: Any) -> GuardrailFunctionOutput:
        text = given if isinstance(given, str) else _last_words(given)
        if not text:
            return GuardrailFunctionOutput(None, tripwire_triggered=False)
        return await _guardrail(self.of(context, agent).guard_user, text)

    async def answer(self, context: RunContextWrapper[Any], agent: Agent[Any], output: Any) -> GuardrailFunctionOutput:
        return await _guardrail(self.of(context, agent).guard_answer, output)

    def of(self, context: RunContextWrapper[Any], agent: Agent[Any]) -> AsyncGuardian:
        trace = get_current_trace()
        traced = trace is not None and trace.trace_id != "no-op"
        if self.session is not None:
            session = self.session(context.context)
        elif trace is not None and traced:
            session = getattr(trace, "group_id", None) or trace.trace_id
        else:
            session = self.guardian.session
        described = {"id": agent.name, "name": agent.name}
        if isinstance(agent.instructions, str):
            described["instructions"] = agent.instructions
        return self.guardian.in_session(session, turn=trace.trace_id if trace is not None and traced else None, agent=described)


async def _guardrail(guard: Callable[[Any], Any], value: Any) -> GuardrailFunctionOutput:
    try:
        edited = await guard(value)
        if edited is value:
            return GuardrailFunctionOutput(None, tripwire_triggered=False)
        info = {"reason": str(Denied(NOT_EDITABLE)), "edited": edited}
    except Denied as denied:
        info = {"reason": str(denied), "edited": None}
    log.warning("the run ends: %s", info["reason"])  # the exception of a tripwire does not say why
    return GuardrailFunctionOutput(info, tripwire_triggered=True)


def _is_media(output: Any) -> bool:
    return isinstance(output, (ToolOutputImage, ToolOutputFileContent))


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _last_words(items: list[Any]) -> str:
    """The user's words since anything else was said: what stands before was judged when it was new."""
    words: list[str] = []
    for item in reversed(items):
        if not isinstance(item, dict) or item.get("role") != "user":
            break
        content = item.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        words[:0] = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(words)
