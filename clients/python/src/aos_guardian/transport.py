"""One question to the server over HTTP, blocking or not, within a time.

Each question has a connection of its own: threads, forks and event loops share nothing, and nothing has to be closed.
"""

from __future__ import annotations

import asyncio
import io
import json
import socket
import ssl
import time
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.parse import urlsplit

from .verdict import Refused, Unavailable

MAX_ANSWER_BYTES = 32 * 1024 * 1024
# Errors about the step itself: no JSON, no request, wrong parameters.
UNREADABLE = (-32700, -32600, -32602)
# No verdict this time: internal error, undecided.
NO_VERDICT = (-32603, -32012)
# Rate limit, overloaded.
BUSY = (-32010, -32011)


class Unreadable(Exception):
    """The server cannot read the step. What stands in it causes this, so the step is denied whatever the posture."""


class _Retry(Exception):
    def __init__(self, why: str, after: float):
        super().__init__(why)
        self.after = after


@dataclass(frozen=True)
class Transport:
    url: str
    api_key: str | None
    timeout: float
    retries: int
    tls: ssl.SSLContext | None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"expected the guardian's http:// or https:// address, found `{self.url}`")
        if any(letter < "!" or letter > "~" for letter in self.url + (self.api_key or "")):
            raise ValueError("expected printable ASCII without spaces in the guardian's address and key")

    def ask(self, request: dict[str, Any]) -> Any:
        """The `result` of a request. Raises `Unreadable`, `Refused` or `Unavailable`."""
        deadline, message, attempt = time.monotonic() + self.timeout, self._message(request), 0
        while True:
            try:
                return _result(self._exchange(message, deadline), request["id"])
            except _Retry as retry:
                attempt += 1
                time.sleep(self._pause(retry, attempt, deadline))

    async def ask_async(self, request: dict[str, Any]) -> Any:
        deadline, message, attempt = time.monotonic() + self.timeout, self._message(request), 0
        while True:
            try:
                return _result(await self._exchange_async(message, deadline), request["id"])
            except _Retry as retry:
                attempt += 1
                await asyncio.sleep(self._pause(retry, attempt, deadline))

    def _message(self, request: dict[str, Any]) -> bytes:
        try:
            body = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise Unreadable(f"the step cannot be written as JSON: {error}") from error
        parts = urlsplit(self.url)
        head = [
            f"POST {parts.path or '/'} HTTP/1.1",
            f"Host: {parts.netloc.rpartition('@')[2]}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *([f"Authorization: Bearer {self.api_key}"] if self.api_key else []),
        ]
        return "\r\n".join([*head, "", ""]).encode() + body

    def _exchange(self, message: bytes, deadline: float) -> bytes:
        host, port, secure = self._place()
        raw = bytearray()
        try:
            with socket.create_connection((host, port), self._left(deadline)) as plain:
                tls = (self.tls or ssl.create_default_context()) if secure else None
                with tls.wrap_socket(plain, server_hostname=host) if tls else plain as stream:
                    stream.sendall(message)
                    while chunk := stream.recv(65536):
                        _take(raw, chunk)
                        stream.settimeout(self._left(deadline))
        except Exception as error:
            raise self._fault(error, len(message)) from error
        return bytes(raw)

    async def _exchange_async(self, message: bytes, deadline: float) -> bytes:
        host, port, secure = self._place()
        raw = bytearray()

        async def exchange() -> None:
            reader, writer = await asyncio.open_connection(host, port, ssl=(self.tls or True) if secure else None)
            try:
                writer.write(message)
                while chunk := await reader.read(65536):
                    _take(raw, chunk)
            finally:
                writer.transport.abort()

        try:
            await asyncio.wait_for(exchange(), self._left(deadline))
        except Exception as error:
            raise self._fault(error, len(message)) from error
        return bytes(raw)

    def _place(self) -> tuple[str, int, bool]:
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        return cast(str, parts.hostname), parts.port or (443 if secure else 80), secure

    def _left(self, deadline: float) -> float:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _fault(self, error: Exception, sent: int) -> Exception:
        """The error that an exception of the network means."""
        if isinstance(error, ConnectionRefusedError):
            return _Retry(f"connection refused at {self.url}", 0.2)
        if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
            return Unavailable(f"no answer within {self.timeout:g} s")
        if isinstance(error, (BrokenPipeError, ConnectionResetError)) and sent > 65536:
            # A server may hang up on a body that is too large before its 413 can be read.
            return Unreadable(f"the server hung up on a request of {sent} bytes")
        if isinstance(error, (OSError, HTTPException)):
            return Unavailable(f"{type(error).__name__}: {error}")
        return error

    def _pause(self, retry: _Retry, attempt: int, deadline: float) -> float:
        """Seconds until the next attempt; raises when there is none."""
        if attempt > self.retries or time.monotonic() + retry.after >= deadline:
            raise Unavailable(str(retry)) from retry
        return retry.after


def _take(raw: bytearray, chunk: bytes) -> None:
    raw += chunk
    if len(raw) > MAX_ANSWER_BYTES:
        raise HTTPException(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")


class _Received:
    """Received bytes in the form in which `HTTPResponse` wants a socket."""

    def __init__(self, raw: bytes):
        self.raw = raw

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self.raw)


def _result(raw: bytes, request_id: str) -> Any:
    answer = HTTPResponse(cast(socket.socket, _Received(raw)), method="POST")
    try:
        answer.begin()
        text = answer.read()
    except HTTPException as error:
        raise Unavailable(f"no whole HTTP answer: {type(error).__name__}") from error
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    status, body = answer.status, body if isinstance(body, dict) else {}
    fault = body["error"] if isinstance(body.get("error"), dict) else {}
    code, why = fault.get("code"), f"{fault.get('message') or 'the answer is no JSON-RPC'} (HTTP {status})"
    if status in (429, 503) or code in BUSY:
        raise _Retry(why, _retry_after(answer.getheader("Retry-After"), fault.get("data")))
    if status == 413 or (status == 200 and code in UNREADABLE):
        raise Unreadable(why)
    if status >= 500 or status == 408 or code in NO_VERDICT:
        raise Unavailable(why)
    if status != 200 or code is not None:
        raise Refused(why)
    if body.get("id") != request_id or "result" not in body:
        raise Unavailable("the answer belongs to no request of this client: is this a guardian's address?")
    return body["result"]


def _retry_after(header: str | None, data: Any) -> float:
    """Seconds to wait: the header's, else the error's own, else one."""
    if header and header.strip().isdigit():
        return float(header)
    told = data.get("retryAfterMs") if isinstance(data, dict) else None
    return told / 1000 if isinstance(told, (int, float)) and told >= 0 else 1.0
