"""Google ADK: `Runner(…, plugins=[GuardianPlugin(Guardian())])`, first of the plugins.

docs/clients.md says what it cannot stop: streamed text, live sessions, tools that the model's provider runs.
"""

from __future__ import annotations

from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from .client import AsyncGuardian, Guardian
from .verdict import Denied


class _Denial(dict[str, Any]):
    """The answer of a denied call."""


class GuardianPlugin(BasePlugin):
    """Judges what the user says, each call, each result, and the answer. The session is ADK's, of one app and user.

    A denied question ends the run with the reason as its answer, and is kept out of the history. A denied call or result becomes
    `{"error": …}`, a denied answer the reason.
    """

    def __init__(self, guardian: Guardian | AsyncGuardian):
        super().__init__(name="guardian")
        self._guardian = guardian.awaitable()
        self._denied_runs: dict[str, Denied] = {}

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: types.Content) -> types.Content | None:
        try:
            return await _judged(user_message, self._of(invocation_context).guard_user)
        except Denied as denied:
            self._denied_runs[invocation_context.invocation_id] = denied
            return types.Content(role="user", parts=[types.Part(text="[guardian] The message was withheld.")])

    async def before_run_callback(self, *, invocation_context: Any) -> types.Content | None:
        denied = self._denied_runs.pop(invocation_context.invocation_id, None)
        return None if denied is None else types.Content(role="model", parts=[types.Part(text=str(denied))])

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        try:
            given = await self._of(tool_context).guard_tool_call(tool.name, tool_args, tool_context.function_call_id)
        except Denied as denied:
            return _Denial(error=str(denied))
        if given is not tool_args:
            tool_args.clear()
            tool_args.update(given)
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        if isinstance(result, _Denial):  # ADK shows us our own denial
            return None
        try:
            judged = await self._of(tool_context).guard_tool_result(tool_context.function_call_id, result)
        except Denied as denied:
            return {"error": str(denied)}
        if judged is result:
            return None
        return judged if isinstance(judged, dict) else {"result": judged}

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> Any:
        if event.author == "user" or event.partial or not event.content or not event.is_final_response():
            return None
        try:
            content = await _judged(event.content, self._of(invocation_context).guard_answer)
        except Denied as denied:
            content = types.Content(role="model", parts=[types.Part(text=str(denied))])
        return None if content is None else event.model_copy(update={"content": content})

    def _of(self, context: Any) -> AsyncGuardian:
        session = context.session
        agent = getattr(context, "agent_name", None) or context.agent.name
        name = f"{session.app_name}/{session.user_id}/{session.id}"
        return self._guardian.in_session(name, turn=context.invocation_id, user=session.user_id, agent=agent)


async def _judged(content: types.Content, guard: Any) -> types.Content | None:
    """The content with its texts edited, or None where nothing was. Thoughts, media and calls pass unread."""
    parts = content.parts or []
    read = [index for index, part in enumerate(parts) if part.text and not part.thought]
    if not read:
        return None
    texts: list[str] = [parts[index].text or "" for index in read]
    edited = [await guard(text) for text in texts]
    if edited == texts:
        return None
    changed = dict(zip(read, edited, strict=True))
    parts = [part.model_copy(update={"text": changed[index]}) if index in changed else part for index, part in enumerate(parts)]
    return content.model_copy(update={"parts": parts})
