"""Steps of an agent as AOS writes them: how a value becomes a request, and how an edited request becomes a value again.

Nothing here talks to a server.
"""

from __future__ import annotations

import dataclasses
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .verdict import NOT_EDITABLE, Denied

T = TypeVar("T")
Json = Any  # what `json.dumps` takes
Params = dict[str, Any]


@dataclass(frozen=True)
class Step(Generic[T]):
    """One step: its AOS method, its parameters besides the context, and the value that an allow gives back."""

    method: str
    params: Params
    value: T
    #: Takes the value out of the parameters as the guardian edited them.
    edited: Callable[[Params], T]


def user(content: T) -> Step[T]:
    return _message("user", content, {})


def answer(content: T, reasoning: str | None = None) -> Step[T]:
    return _message("agent", content, _reasoning(reasoning))


def tool_call(tool: str, arguments: T, call_id: str, reasoning: str | None = None) -> Step[T]:
    named = {str(name): value for name, value in arguments.items()} if isinstance(arguments, Mapping) else {"input": arguments}
    sent = {name: plain(value) for name, value in named.items()}
    inputs = [{"name": name, "value": value} for name, value in sent.items()]
    request = {"executionId": call_id, "toolId": tool, "inputs": inputs}

    def edited(params: Params) -> Any:
        values = {each["name"]: each["value"] for each in params["toolCallRequest"]["inputs"]}
        # An argument that was not edited stays the very object that was given.
        values = {name: named[name] if name in sent and sent[name] == value else value for name, value in values.items()}
        return values if isinstance(arguments, Mapping) else values["input"]

    return Step("steps/toolCallRequest", {"toolCallRequest": request, **_reasoning(reasoning)}, arguments, edited)


def tool_result(call_id: str, output: T, is_error: bool = False) -> Step[T]:
    params = {"executionId": call_id, "result": {"outputs": _parts(output), "isError": is_error}}
    return Step("steps/toolCallResult", params, output, lambda params: _value(params["result"]["outputs"], output))


def memory_store(memory: Sequence[str]) -> Step[list[str]]:
    return Step("steps/memoryStore", {"memory": list(memory)}, list(memory), lambda params: params["memory"])


def memory_retrieval(memory: Sequence[str]) -> Step[list[str]]:
    return Step("steps/memoryContextRetrieval", {"memory": list(memory)}, list(memory), lambda params: params["memory"])


def knowledge(documents: Sequence[str], query: str | None, ids: Sequence[str] | None) -> Step[list[str]]:
    named = zip(ids if ids is not None else map(str, range(len(documents))), documents, strict=True)
    found: Params = {"results": [{"id": name, "content": text} for name, text in named]}
    if query is not None:
        found["query"] = query

    def edited(params: Params) -> list[str]:
        return [result["content"] for result in params["knowledgeStep"]["results"]]

    return Step("steps/knowledgeRetrieval", {"knowledgeStep": found}, list(documents), edited)


def trigger(content: T, event_type: str, event_id: str) -> Step[T]:
    event = {"type": event_type, "id": event_id}
    params = {"trigger": {"type": "autonomous", "event": event, "content": _parts(content)}}
    return Step("steps/agentTrigger", params, content, lambda params: _value(params["trigger"]["content"], content))


def mcp(message: Params) -> Step[Params]:
    return Step("protocols/MCP", {"message": message}, message, lambda params: params["message"])


def plain(value: Any) -> Json:
    """The JSON that stands for a value: models and data classes by their fields, whatever else is no JSON by its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        pairs = [(plain(key), plain(each)) for key, each in value.items()]
        # Keys that are no texts could become equal as texts, and one value would go unseen.
        return dict(pairs) if all(isinstance(key, str) for key, _ in pairs) else [list(pair) for pair in pairs]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return str(value)


def without_media(value: Any, is_media: Callable[[Any], bool]) -> tuple[Any, Callable[[Any], Any]]:
    """The readable part of a value, and a function that puts the judged part back beside images and sound."""
    if is_media(value):
        return [], lambda _: value
    if not isinstance(value, (list, tuple)) or not any(map(is_media, value)):
        return value, lambda judged: judged
    readable = [each for each in value if not is_media(each)]

    def whole(judged: Any) -> Any:
        if judged is readable:
            return value
        if len(judged) != len(readable):
            raise Denied(NOT_EDITABLE)
        rest = iter(judged)
        return [each if is_media(each) else next(rest) for each in value]

    return readable, whole


def _message(role: str, content: T, more: Params) -> Step[T]:
    message = {"id": uuid.uuid4().hex, "role": role, "content": _parts(content)}
    edited: Callable[[Params], T] = lambda params: _value(params["message"]["content"], content)  # noqa: E731
    return Step("steps/message", {"message": message, **more}, content, edited)


def _parts(value: Any) -> list[Params]:
    if value is None:
        return []
    if isinstance(value, str):
        return [{"kind": "text", "text": value}]
    return [{"kind": "data", "data": plain(value)}]


def _value(parts: list[Params], sent: Any) -> Any:
    (part,) = parts
    return part["text"] if isinstance(sent, str) else part["data"]


def _reasoning(reasoning: str | None) -> Params:
    return {} if reasoning is None else {"reasoning": reasoning}
