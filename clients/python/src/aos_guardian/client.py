"""The clients, blocking and for `await`. One object is one session of one agent; `in_session` makes one for another session."""

from __future__ import annotations

import copy
import logging
import os
import ssl
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Literal, ParamSpec, TypeVar, cast

from . import steps
from .steps import Step
from .transport import Transport, Unreadable
from .verdict import Denied, Unavailable, Verdict

T = TypeVar("T")
P = ParamSpec("P")
Client = TypeVar("Client", bound="_Client")
OnFailure = Literal["deny", "allow", "raise"]
AgentInfo = str | Mapping[str, Any]
log = logging.getLogger("aos_guardian")


class _Client:
    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        agent: AgentInfo | None = None,
        session: str | None = None,
        user: str | None = None,
        timeout: float = 15.0,
        on_failure: OnFailure = "deny",
        retries: int = 2,
        tls: ssl.SSLContext | None = None,
    ):
        """`url` and `api_key` default to GUARDIAN_URL and GUARDIAN_KEY, else to the server on this machine and no key.

        `agent` is a name, or an AOS Agent object (`id`, `name`, `instructions`, `tools`, …). `timeout` is in seconds, for one
        verdict with its retries, and should be longer than the server's own (10 s by default). `on_failure` says what counts
        where there is no answer. `retries` are for refused connections, 429 and 503.
        """
        if on_failure not in ("deny", "allow", "raise"):
            raise ValueError(f'expected on_failure "deny", "allow" or "raise", found `{on_failure}`')
        url = url or os.environ.get("GUARDIAN_URL") or "http://127.0.0.1:8787"
        self._transport = Transport(url, api_key or os.environ.get("GUARDIAN_KEY"), timeout, retries, tls)
        self._on_failure = on_failure
        self._agent = agent
        self._user = user
        self._turn = "1"
        self.session = session or uuid.uuid4().hex

    def in_session(
        self: Client,
        session: str | None = None,
        *,
        turn: str | None = None,
        user: str | None = None,
        agent: AgentInfo | None = None,
    ) -> Client:
        """The same client for another session (without a name, for a new one). `agent` counts where none was given before."""
        other = copy.copy(self)
        other.session = session or uuid.uuid4().hex
        other._turn = turn or "1"
        other._user = user or self._user
        other._agent = self._agent or agent
        return other

    @property
    def timeout(self) -> float:
        return self._transport.timeout

    def blocking(self) -> Guardian:
        return self._as(Guardian)

    def awaitable(self) -> AsyncGuardian:
        return self._as(AsyncGuardian)

    def _as(self, kind: type[Client]) -> Client:
        other = object.__new__(kind)
        other.__dict__.update(self.__dict__)
        return other

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        agent = self._agent or "agent"
        context: dict[str, Any] = {
            "agent": {"id": agent, "name": agent} if isinstance(agent, str) else dict(agent),
            "session": {"id": self.session},
            "turnId": self._turn,
            "stepId": uuid.uuid4().hex,
            "timestamp": datetime.now(timezone.utc).isoformat(),
        }
        if self._user:
            context["user"] = {"id": self._user}
        return {"jsonrpc": "2.0", "id": uuid.uuid4().hex, "method": method, "params": {"context": context, **params}}

    def _without_answer(self, method: str, error: Exception) -> Verdict:
        if isinstance(error, Unreadable):
            log.warning("%s cannot be judged and is denied: %s", method, error)
            message = "The step is too large, or of a form that cannot be judged."
            return Verdict("deny", message, "client", str(error), ("unreadable_step",))
        if self._on_failure == "raise":
            raise error
        log.warning("no verdict about %s, by on_failure it counts as %s: %s", method, self._on_failure, error)
        message = "The guardian gave no answer."
        return Verdict(self._on_failure, message, "client", str(error), ("guardian_unavailable",))

    def _step(self, make: Callable[P, Step[T]], *args: P.args, **kwargs: P.kwargs) -> Step[T]:
        try:
            return make(*args, **kwargs)
        except RecursionError:
            raise Denied(self._without_answer("the step", Unreadable("it is nested too deeply"))) from None

    def _settle(self, step: Step[T], verdict: Verdict) -> T:
        if verdict.decision == "allow":
            return step.value
        if verdict.decision == "modify":
            try:
                return step.edited(cast(Any, verdict.modified_request)["params"])
            except (KeyError, TypeError, ValueError):
                log.warning("the modified %s has another form than the one that was sent, so it is denied", step.method)
        raise Denied(verdict)


class Guardian(_Client):
    """A client that blocks. Each `guard_…` returns the value, edited where the guardian wants it so, or raises `Denied`."""

    def judge(self, method: str, params: Mapping[str, Any]) -> Verdict:
        """The verdict about any AOS step; a `context` is filled in unless `params` has one."""
        try:
            return Verdict.read(self._transport.ask(self._request(method, params)))
        except (Unreadable, Unavailable) as error:
            return self._without_answer(method, error)

    def ping(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._transport.ask(self._request("ping", {})))

    def guard_user(self, content: T) -> T:
        """The user's words, before the agent reads them."""
        return self._guard(steps.user, content)

    def guard_tool_call(self, tool: str, arguments: T, call_id: str, reasoning: str | None = None) -> T:
        """The arguments of a call, before the tool runs."""
        return self._guard(steps.tool_call, tool, arguments, call_id, reasoning)

    def guard_tool_result(self, call_id: str, output: T, is_error: bool = False) -> T:
        """A tool's answer, before the model reads it. `call_id` is that of its call."""
        return self._guard(steps.tool_result, call_id, output, is_error)

    def guard_answer(self, content: T, reasoning: str | None = None) -> T:
        """The agent's answer, before the user sees it."""
        return self._guard(steps.answer, content, reasoning)

    def guard_memory_store(self, memory: Sequence[str]) -> list[str]:
        """Texts that the agent is about to remember."""
        return self._guard(steps.memory_store, memory)

    def guard_memory_retrieval(self, memory: Sequence[str]) -> list[str]:
        """Remembered texts, before the model reads them."""
        return self._guard(steps.memory_retrieval, memory)

    def guard_knowledge(self, documents: Sequence[str], query: str | None = None, ids: Sequence[str] | None = None) -> list[str]:
        """Retrieved documents, before the model reads them."""
        return self._guard(steps.knowledge, documents, query, ids)

    def guard_trigger(self, content: T, event_type: str, event_id: str) -> T:
        """The event that woke the agent in place of a user: a mail, a schedule."""
        return self._guard(steps.trigger, content, event_type, event_id)

    def guard_mcp(self, message: dict[str, Any]) -> dict[str, Any]:
        """A JSON-RPC message to or from an MCP server."""
        return self._guard(steps.mcp, message)

    def _guard(self, make: Callable[P, Step[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        step = self._step(make, *args, **kwargs)
        return self._settle(step, self.judge(step.method, step.params))


class AsyncGuardian(_Client):
    """The same client for `await`."""

    async def judge(self, method: str, params: Mapping[str, Any]) -> Verdict:
        try:
            return Verdict.read(await self._transport.ask_async(self._request(method, params)))
        except (Unreadable, Unavailable) as error:
            return self._without_answer(method, error)

    async def ping(self) -> dict[str, Any]:
        return cast("dict[str, Any]", await self._transport.ask_async(self._request("ping", {})))

    async def guard_user(self, content: T) -> T:
        return await self._guard(steps.user, content)

    async def guard_tool_call(self, tool: str, arguments: T, call_id: str, reasoning: str | None = None) -> T:
        return await self._guard(steps.tool_call, tool, arguments, call_id, reasoning)

    async def guard_tool_result(self, call_id: str, output: T, is_error: bool = False) -> T:
        return await self._guard(steps.tool_result, call_id, output, is_error)

    async def guard_answer(self, content: T, reasoning: str | None = None) -> T:
        return await self._guard(steps.answer, content, reasoning)

    async def guard_memory_store(self, memory: Sequence[str]) -> list[str]:
        return await self._guard(steps.memory_store, memory)

    async def guard_memory_retrieval(self, memory: Sequence[str]) -> list[str]:
        return await self._guard(steps.memory_retrieval, memory)

    async def guard_knowledge(
        self, documents: Sequence[str], query: str | None = None, ids: Sequence[str] | None = None
    ) -> list[str]:
        return await self._guard(steps.knowledge, documents, query, ids)

    async def guard_trigger(self, content: T, event_type: str, event_id: str) -> T:
        return await self._guard(steps.trigger, content, event_type, event_id)

    async def guard_mcp(self, message: dict[str, Any]) -> dict[str, Any]:
        return await self._guard(steps.mcp, message)

    async def _guard(self, make: Callable[P, Step[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        step = self._step(make, *args, **kwargs)
        return self._settle(step, await self.judge(step.method, step.params))
