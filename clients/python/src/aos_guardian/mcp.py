"""MCP clients: `guard_session(session, Guardian())` judges what a `ClientSession` (or `Client`) sends and gets.

docs/clients.md says what it cannot stop: requests of the server (sampling, elicitation), notifications, images.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp.types import CallToolResult

from .client import AsyncGuardian, Guardian
from .verdict import Denied

Session = TypeVar("Session")
Call = Callable[..., Awaitable[Any]]


def guard_session(session: Session, guardian: Guardian | AsyncGuardian) -> Session:
    """The same session, with `call_tool`, `list_tools`, `read_resource` and `get_prompt` judged in both directions.

    A denied call is an error result, a tool with a denied description is left out of the list; a denied resource or prompt
    raises `Denied`. Sessions with several servers of one agent should share one guardian.
    """
    guards = _Guards(guardian.awaitable())
    for name in ("call_tool", "list_tools", "read_resource", "get_prompt"):
        setattr(session, name, _bound(getattr(guards, name), getattr(session, name)))
    return session


def _bound(guard: Call, call: Call) -> Call:
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        return await guard(call, *args, **kwargs)

    return guarded


class _Guards:
    def __init__(self, guardian: AsyncGuardian):
        self.guardian = guardian

    async def call_tool(self, call: Call, name: str, arguments: dict[str, Any] | None = None, *args: Any, **more: Any) -> Any:
        try:
            exchange, params = await self.request("tools/call", {"name": name, "arguments": arguments or {}})
            return await self.result(exchange, await call(name, params["arguments"], *args, **more))
        except Denied as denied:
            return CallToolResult.model_validate({"content": [{"type": "text", "text": str(denied)}], "isError": True})

    async def read_resource(self, call: Call, uri: Any, *args: Any, **more: Any) -> Any:
        exchange, _ = await self.request("resources/read", {"uri": str(uri)})
        return await self.result(exchange, await call(uri, *args, **more))

    async def get_prompt(self, call: Call, name: str, arguments: dict[str, str] | None = None, *args: Any, **more: Any) -> Any:
        exchange, params = await self.request("prompts/get", {"name": name, "arguments": arguments or {}})
        return await self.result(exchange, await call(name, params["arguments"], *args, **more))

    async def list_tools(self, call: Call, *args: Any, **more: Any) -> Any:
        exchange, _ = await self.request("tools/list", {})
        listed = await call(*args, **more)
        try:
            return await self.result(exchange, listed)
        except Denied:
            kept = [tool for tool in listed.tools if await self.passes(listed.model_copy(update={"tools": [tool]}))]
            return listed.model_copy(update={"tools": kept})

    async def passes(self, listed: Any) -> bool:
        exchange, _ = await self.request("tools/list", {})
        try:
            await self.result(exchange, listed)
        except Denied:
            return False
        return True

    async def request(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        exchange = uuid.uuid4().hex
        message = {"jsonrpc": "2.0", "id": exchange, "method": method, "params": params}
        return exchange, (await self.guardian.guard_mcp(message))["params"]

    async def result(self, exchange: str, result: Any) -> Any:
        sent = {"jsonrpc": "2.0", "id": exchange, "result": _without_media(result)}
        judged = await self.guardian.guard_mcp(sent)
        if judged is sent:
            return result
        edited = type(result).model_validate(judged["result"])
        for block, original in zip(_media(edited), _media(result), strict=True):
            block.data = original.data
        return edited


def _media(result: Any) -> list[Any]:
    return [block for block in getattr(result, "content", ()) if getattr(block, "type", None) in ("image", "audio")]


def _without_media(result: Any) -> dict[str, Any]:
    plain: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    for block in plain.get("content", ()):
        if isinstance(block, dict) and block.get("type") in ("image", "audio"):
            block["data"] = ""
    return plain
