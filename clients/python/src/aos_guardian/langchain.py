"""LangChain agents, and LangGraph's ToolNode.

    agent = create_agent(model, tools, middleware=[GuardianMiddleware(Guardian())])
    node = ToolNode(tools, **tool_wrappers(Guardian()))

docs/clients.md says what it cannot stop: text that is streamed, tools that the provider runs, artifacts of tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from .client import AsyncGuardian, Guardian
from .verdict import NOT_EDITABLE, Denied

Result = ToolMessage | Command[Any]
AnyGuardian = TypeVar("AnyGuardian", Guardian, AsyncGuardian)
Message = TypeVar("Message", bound=BaseMessage)


class GuardianMiddleware(AgentMiddleware[Any, Any, Any]):
    """Judges what the user says, each call, each result, and the answer.

    The session is the thread's id, else the id of the conversation's first message.
    """

    def __init__(self, guardian: Guardian | AsyncGuardian):
        super().__init__()
        self._guardian = guardian

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        guardian = _of(self._guardian.blocking(), state, runtime)
        try:
            messages = [_with_text(each, guardian.guard_user(str(each.text))) for each in _last_words(state["messages"])]
        except Denied as denied:
            return {"jump_to": "end", "messages": [AIMessage(str(denied))]}
        return {"messages": messages}

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        guardian = _of(self._guardian.blocking(), state, runtime)
        last, structured = state["messages"][-1], state.get("structured_response")
        try:
            if structured is not None and guardian.guard_answer(structured) is not structured:
                raise Denied(NOT_EDITABLE)
            if isinstance(last, AIMessage):
                return {"messages": [_with_text(last, guardian.guard_answer(str(last.text)))]}
            return None
        except Denied as denied:
            withheld = AIMessage(str(denied), id=last.id if isinstance(last, AIMessage) else None)
            return {"messages": [withheld], **({} if structured is None else {"structured_response": None})}

    async def aafter_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await asyncio.to_thread(self.after_agent, state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        guardian, call = _of(self._guardian.blocking(), request.state, request.runtime), request.tool_call
        try:
            given = guardian.guard_tool_call(call["name"], call["args"], _id(call))
            result = handler(request.override(tool_call={**call, "args": given}))
            read = _readable(result)
            return _edited(result, read, guardian.guard_tool_result(_id(call), read, _failed(result)))
        except Denied as denied:
            return _refusal(call, denied)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        guardian, call = _of(self._guardian.awaitable(), request.state, request.runtime), request.tool_call
        try:
            given = await guardian.guard_tool_call(call["name"], call["args"], _id(call))
            result = await handler(request.override(tool_call={**call, "args": given}))
            read = _readable(result)
            return _edited(result, read, await guardian.guard_tool_result(_id(call), read, _failed(result)))
        except Denied as denied:
            return _refusal(call, denied)


def tool_wrappers(guardian: Guardian | AsyncGuardian) -> dict[str, Any]:
    """The arguments of a `ToolNode` that judge its calls and their results."""
    middleware = GuardianMiddleware(guardian)
    return {"wrap_tool_call": middleware.wrap_tool_call, "awrap_tool_call": middleware.awrap_tool_call}


def _of(guardian: AnyGuardian, state: Any, runtime: Any) -> AnyGuardian:
    messages = state.get("messages") if isinstance(state, dict) else state
    first = messages[0].id if isinstance(messages, list) and messages else None
    info = getattr(runtime, "execution_info", None)
    return guardian.in_session(getattr(info, "thread_id", None) or first or guardian.session, turn=getattr(info, "run_id", None))


def _last_words(messages: list[BaseMessage]) -> list[HumanMessage]:
    """The user's messages since anything else was said: what stands before was judged when it was new."""
    words: list[HumanMessage] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        words.insert(0, message)
    return words


def _with_text(message: Message, text: str) -> Message:
    """The message with another text; its images and other blocks stay."""
    if text == str(message.text):
        return message
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    others = [block for block in message.content if isinstance(block, dict) and block.get("type") != "text"]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *others]})


def _readable(result: Result) -> Any:
    """The part of a result that the model will read: a message's text, or all that a `Command` writes into the state."""
    if isinstance(result, ToolMessage):
        return str(result.text)
    return _texts(result.update)


def _texts(update: Any) -> Any:
    if isinstance(update, BaseMessage):
        return str(update.text)
    if isinstance(update, dict):
        return {key: _texts(each) for key, each in update.items()}
    return [_texts(each) for each in update] if isinstance(update, (list, tuple)) else update


def _edited(result: Result, read: Any, judged: Any) -> Result:
    if isinstance(result, ToolMessage):
        return _with_text(result, judged)
    if judged is not read:
        raise Denied(NOT_EDITABLE)
    return result


def _failed(result: Result) -> bool:
    return isinstance(result, ToolMessage) and result.status == "error"


def _id(call: Any) -> str:
    return str(call["id"] or call["name"])


def _refusal(call: Any, denied: Denied) -> ToolMessage:
    return ToolMessage(str(denied), tool_call_id=call["id"], name=call["name"], status="error")
