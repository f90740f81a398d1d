"""Pydantic AI: `Agent(model, capabilities=[GuardianCapability(Guardian())])`.

docs/clients.md says what it cannot stop: streamed text, tools that the provider runs, media.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import (
    MULTI_MODAL_CONTENT_TYPES,
    BinaryContent,
    CachePoint,
    ModelRequest,
    RetryPromptPart,
    ToolReturnPart,
    UserPromptPart,
)

from .client import AsyncGuardian, Guardian
from .steps import without_media
from .verdict import NOT_EDITABLE, Denied


class GuardianCapability(AbstractCapability[Any]):
    """Judges what the user says, each call, each result, and the answer. The session is the conversation's id.

    A denied call or result becomes a failed result that the model reads. A denied question or answer ends the run with `Denied`.
    """

    def __init__(self, guardian: Guardian | AsyncGuardian):
        self.guardian = guardian.awaitable()

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        last = request_context.messages[-1]
        # Beside results of tools, a prompt is what a tool said; it was judged with the result.
        answers_tools = any(isinstance(part, (ToolReturnPart, RetryPromptPart)) for part in last.parts)
        if isinstance(last, ModelRequest) and not answers_tools:
            for part in last.parts:
                if isinstance(part, UserPromptPart):
                    part.content = await _judged(part.content, self._of(ctx).guard_user)
        return request_context

    async def wrap_tool_execute(self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        guardian = self._of(ctx)

        async def guard(value: Any, is_error: bool = False) -> Any:
            return await guardian.guard_tool_result(call.tool_call_id, value, is_error)

        try:
            args = await guardian.guard_tool_call(call.tool_name, args, call.tool_call_id)
            try:
                output = await handler(args)
            except (ToolRetryError, ToolFailedError) as failed:  # the model reads what these say
                part = failed.tool_retry if isinstance(failed, ToolRetryError) else failed.tool_failed
                try:
                    part.content = await guard(part.content, is_error=True)
                except Denied as denied:
                    part.content = str(denied)
                raise
            if not isinstance(output, ToolReturn):
                return await _judged(output, guard)
            value = await _judged(output.return_value, guard)
            content = await _judged(output.content, guard) if output.content else output.content
            return dataclasses.replace(output, return_value=value, content=content)
        except Denied as denied:
            raise ToolFailed(str(denied)) from denied

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        output = await self._of(ctx).guard_answer(result.output)
        if output is result.output:
            return result
        if not isinstance(output, str):
            raise Denied(NOT_EDITABLE)
        return dataclasses.replace(result, output=output)

    def _of(self, ctx: RunContext[Any]) -> AsyncGuardian:
        name = (ctx.agent.name if ctx.agent else None) or "agent"
        return self.guardian.in_session(ctx.conversation_id, turn=ctx.run_id, agent=name)


def _is_media(content: Any) -> bool:
    text = isinstance(content, BinaryContent) and content.media_type.startswith("text/")
    return isinstance(content, (*MULTI_MODAL_CONTENT_TYPES, CachePoint)) and not text


async def _judged(content: Any, guard: Any) -> Any:
    readable, whole = without_media(content, _is_media)
    return whole(await guard(readable))
