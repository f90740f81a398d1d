"""The client against a scripted server on this machine: what it sends, what it makes of each answer, and how long it waits."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from aos_guardian import AsyncGuardian, Denied, Guardian, Refused, Unavailable

logging.disable()
Answer = tuple[int, dict[str, str], Any]


class _Http(ThreadingHTTPServer):
    request_queue_size = 100


class Server:
    """Answers each request with the next of its answers (the last one again and again), and keeps what it was sent."""

    def __init__(self, *answers: Answer | Callable[[dict[str, Any]], Answer], port: int = 0):
        seen: list[dict[str, Any]] = []
        headers: list[Any] = []
        left = list(answers)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                seen.append(request)
                headers.append(self.headers)
                answer = left.pop(0) if len(left) > 1 else left[0]
                status, more, body = answer(request) if callable(answer) else answer
                raw = body if isinstance(body, bytes) else json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}).encode()
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self.seen, self.headers = seen, headers
        self.http = _Http(("127.0.0.1", port), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        self.http.shutdown()
        self.http.server_close()


def decision(decision: str, **more: Any) -> Answer:
    result = {"decision": decision, "message": "Because.", "reasonCode": ["code"], "data": {"decisionId": "d-1", "source": "rules"}}
    return 200, {}, {"result": {**result, **more}}


def error(code: int, status: int = 200, headers: dict[str, str] | None = None, data: Any = None) -> Answer:
    return status, headers or {}, {"error": {"code": code, "message": "why", "data": data}}


def masked(request: dict[str, Any]) -> Answer:
    """A modification that masks the word SECRET, wherever it stands."""
    return decision("modify", modifiedRequest=json.loads(json.dumps(request).replace("SECRET", "***")))


def closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Order:
    number: int
    note: str


class Steps(unittest.TestCase):
    def test_each_step_is_written_as_aos_says(self) -> None:
        with Server(decision("allow")) as server:
            guardian = Guardian(server.url, agent="desk", session="s-1", user="u-1")
            guardian.guard_user("hello")
            guardian.guard_tool_call("fetch", {"url": "x"}, "c-1", reasoning="needed")
            guardian.guard_tool_result("c-1", "page", is_error=True)
            guardian.guard_tool_result("c-2", {"a": [1]})
            guardian.guard_answer("bye")
            guardian.guard_memory_store(["a"])
            guardian.guard_memory_retrieval(["a"])
            guardian.guard_knowledge(["text"], query="q", ids=["doc"])
            guardian.guard_trigger("mail", "email", "e-1")
            guardian.guard_mcp({"method": "tools/list"})
        sent = [(each["method"], each["params"]) for each in server.seen]
        context = [params.pop("context") for _, params in sent]
        self.assertEqual({"id": "desk", "name": "desk"}, context[0]["agent"])
        self.assertEqual(("s-1", "u-1"), (context[0]["session"]["id"], context[0]["user"]["id"]))
        self.assertEqual(len(sent), len({each["stepId"] for each in context}))
        for _, params in sent:
            params.get("message", {}).pop("id", None)
        text = [{"kind": "text", "text": "hello"}]
        self.assertEqual(("steps/message", {"message": {"role": "user", "content": text}}), sent[0])
        call = {"executionId": "c-1", "toolId": "fetch", "inputs": [{"name": "url", "value": "x"}]}
        self.assertEqual(("steps/toolCallRequest", {"toolCallRequest": call, "reasoning": "needed"}), sent[1])
        result = {"outputs": [{"kind": "text", "text": "page"}], "isError": True}
        self.assertEqual(("steps/toolCallResult", {"executionId": "c-1", "result": result}), sent[2])
        self.assertEqual([{"kind": "data", "data": {"a": [1]}}], sent[3][1]["result"]["outputs"])
        self.assertEqual("agent", sent[4][1]["message"]["role"])
        self.assertEqual(("steps/memoryStore", {"memory": ["a"]}), sent[5])
        self.assertEqual(("steps/memoryContextRetrieval", {"memory": ["a"]}), sent[6])
        found = {"results": [{"id": "doc", "content": "text"}], "query": "q"}
        self.assertEqual(("steps/knowledgeRetrieval", {"knowledgeStep": found}), sent[7])
        trigger = {"type": "autonomous", "event": {"type": "email", "id": "e-1"}, "content": [{"kind": "text", "text": "mail"}]}
        self.assertEqual(("steps/agentTrigger", {"trigger": trigger}), sent[8])
        self.assertEqual(("protocols/MCP", {"message": {"method": "tools/list"}}), sent[9])

    def test_an_allowed_value_is_the_very_object_that_was_given(self) -> None:
        with Server(decision("allow")) as server:
            guardian = Guardian(server.url)
            for value in (Order(7, "x"), {1: object()}, [float("nan"), b"\xff"], ("a",), None):
                self.assertIs(value, guardian.guard_tool_result("c", value))

    def test_values_that_are_no_json_are_judged_by_their_content(self) -> None:
        with Server(decision("allow")) as server:
            Guardian(server.url).guard_tool_result("c", [Order(7, "note"), b"bytes", float("inf"), {1: "a", "1": "b"}, {"s"}])
        data = server.seen[0]["params"]["result"]["outputs"][0]["data"]
        self.assertEqual([{"number": 7, "note": "note"}, "bytes", "inf", [[1, "a"], ["1", "b"]], ["s"]], data)

    def test_an_edited_step_gives_back_the_edited_value(self) -> None:
        with Server(masked) as server:
            guardian = Guardian(server.url)
            self.assertEqual("my ***", guardian.guard_user("my SECRET"))
            self.assertEqual("my ***", guardian.guard_answer("my SECRET"))
            self.assertEqual("my ***", guardian.guard_tool_result("c", "my SECRET"))
            self.assertEqual({"note": "***"}, guardian.guard_tool_result("c", {"note": "SECRET"}))
            self.assertEqual(["***", "b"], guardian.guard_memory_store(["SECRET", "b"]))
            self.assertEqual(["***", "b"], guardian.guard_memory_retrieval(["SECRET", "b"]))
            self.assertEqual(["a", "***"], guardian.guard_knowledge(["a", "SECRET"]))
            self.assertEqual("***", guardian.guard_trigger("SECRET", "email", "1"))
            self.assertEqual({"method": "***"}, guardian.guard_mcp({"method": "SECRET"}))

    def test_arguments_that_were_not_edited_keep_their_type(self) -> None:
        order = Order(7, "x")
        with Server(masked) as server:
            edited = Guardian(server.url).guard_tool_call("save", {"text": "SECRET", "order": order}, "c")
            self.assertEqual("***", edited["text"])
            self.assertIs(order, edited["order"])
            self.assertEqual("a ***", Guardian(server.url).guard_tool_call("run", "a SECRET", "c"))

    def test_a_denial_carries_message_codes_and_decision(self) -> None:
        with Server(decision("deny")) as server, self.assertRaises(Denied) as caught:
            Guardian(server.url).guard_user("x")
        denied = caught.exception
        self.assertEqual(("Because.", ("code",), "d-1"), (denied.message, denied.reason_codes, denied.decision_id))
        self.assertEqual("[guardian] Because. (decision d-1)", str(denied))

    def test_what_is_neither_allow_nor_a_usable_edit_is_a_denial(self) -> None:
        empty: Answer = (200, {}, {"result": None})
        for answer in (decision("ask"), decision("modify"), decision("modify", modifiedRequest={"params": {}}), empty):
            with self.subTest(answer), Server(answer) as server, self.assertRaises(Denied):
                Guardian(server.url, on_failure="allow").guard_user("x")

    def test_sessions_are_apart_and_share_the_settings(self) -> None:
        with Server(decision("allow")) as server:
            guardian = Guardian(server.url, agent={"id": "a", "name": "A", "instructions": "Help."})
            guardian.in_session("s-2", turn="t-2", user="u-2", agent="other").guard_user("x")
            guardian.in_session().guard_user("x")
        first, second = (each["params"]["context"] for each in server.seen)
        self.assertEqual(("s-2", "t-2", "u-2"), (first["session"]["id"], first["turnId"], first["user"]["id"]))
        self.assertEqual("Help.", first["agent"]["instructions"])
        self.assertNotIn(second["session"]["id"], ("s-2", guardian.session))


class Failures(unittest.TestCase):
    def outcome(self, *answers: Any, **options: Any) -> str:
        with Server(*answers) as server:
            return self.of(Guardian(server.url, **options)) + f" after {len(server.seen)}"

    def of(self, guardian: Guardian) -> str:
        return self.what(lambda: guardian.guard_user("x"))

    def what(self, call: Callable[[], Any]) -> str:
        try:
            return str(call())
        except Denied as denied:
            return " ".join(denied.reason_codes)
        except (Refused, Unavailable) as failure:
            return type(failure).__name__

    def test_no_answer_is_settled_by_the_posture(self) -> None:
        url = f"http://127.0.0.1:{closed_port()}"
        expected = {"deny": "guardian_unavailable", "allow": "x", "raise": "Unavailable"}
        for posture, outcome in expected.items():
            guardian = Guardian(url, on_failure=posture, retries=0)  # type: ignore[arg-type]
            self.assertEqual(outcome, self.of(guardian))
            self.assertEqual(outcome, self.what(lambda g=guardian: asyncio.run(g.awaitable().guard_user("x"))))  # type: ignore[misc]

    def test_an_answer_that_is_none_is_settled_by_the_posture(self) -> None:
        answers: list[Answer] = [
            error(-32603),
            error(-32012),
            (502, {}, b"<html>bad gateway"),
            (200, {}, b"no json"),
            (200, {}, {"id": "another", "result": {"decision": "allow"}}),
            (200, {"Transfer-Encoding": "chunked"}, b"zz\r\n"),
        ]
        for answer in answers:
            with self.subTest(answer):
                self.assertEqual("guardian_unavailable after 1", self.outcome(answer))
                self.assertEqual("x after 1", self.outcome(answer, on_failure="allow"))

    def test_a_step_that_cannot_be_read_is_denied_whatever_the_posture(self) -> None:
        for answer in (error(-32700), error(-32600), error(-32602), error(-32600, 413)):
            with self.subTest(answer):
                self.assertEqual("unreadable_step after 1", self.outcome(answer, on_failure="allow"))
        nested: list[Any] = []
        for _ in range(100_000):
            nested = [nested]
        with Server(decision("allow")) as server:
            guardian = Guardian(server.url, on_failure="allow")
            for value in (nested, "half a pair: \ud800"):
                self.assertEqual("unreadable_step", self.what(lambda v=value: guardian.guard_tool_result("c", v)))  # type: ignore[misc]

    def test_a_server_that_hangs_up_on_a_large_step_has_not_allowed_it(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def hang_up() -> None:
                for _ in range(2):
                    connection, _address = listener.accept()
                    connection.recv(1000)
                    connection.close()

            threading.Thread(target=hang_up, daemon=True).start()
            guardian = Guardian(f"http://127.0.0.1:{listener.getsockname()[1]}", on_failure="allow")
            large = "x" * 30_000_000
            self.assertEqual("unreadable_step", self.what(lambda: guardian.guard_user(large)))
            self.assertEqual("unreadable_step", self.what(lambda: asyncio.run(guardian.awaitable().guard_user(large))))

    def test_a_client_that_is_not_served_is_told_whatever_the_posture(self) -> None:
        for answer in (error(-32002, 401), error(-32003, 403), error(-32600, 404), error(-32601), (302, {"Location": "/x"}, b"")):
            with self.subTest(answer):
                self.assertEqual("Refused after 1", self.outcome(answer, on_failure="allow"))

    def test_a_busy_server_is_asked_again_after_the_time_that_it_says(self) -> None:
        for busy in (
            error(-32010, 429, {"Retry-After": "0"}),
            error(-32011, 503, {"Retry-After": "0"}),
            error(-32011, data={"retryAfterMs": 1}),
        ):
            self.assertEqual("x after 2", self.outcome(busy, decision("allow")))
            self.assertEqual("guardian_unavailable after 3", self.outcome(busy))
        self.assertEqual("guardian_unavailable after 1", self.outcome(error(-32010, 429, {"Retry-After": "60"}), timeout=5))

    def test_a_denial_is_never_asked_for_again(self) -> None:
        self.assertEqual("code after 1", self.outcome(decision("deny"), decision("allow")))

    def test_a_server_that_comes_late_is_found(self) -> None:
        port = closed_port()
        held: list[Server] = []

        def come(_seconds: float) -> None:
            held.append(Server(decision("allow"), port=port))

        with mock.patch("time.sleep", side_effect=come):
            self.assertEqual("x", self.of(Guardian(f"http://127.0.0.1:{port}")))
        held[0].__exit__()

    def test_a_verdict_takes_no_longer_than_the_time_out(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            guardian = Guardian(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
            for ask in (lambda: guardian.guard_user("x"), lambda: asyncio.run(guardian.awaitable().guard_user("x"))):
                began = time.monotonic()
                self.assertEqual("guardian_unavailable", self.what(ask))
                self.assertLess(time.monotonic() - began, 5)

    def test_an_answer_that_drips_takes_no_longer_than_the_time_out(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            stop = threading.Event()

            def drip() -> None:
                connection, _address = listener.accept()
                with connection:
                    while not stop.wait(0.05):
                        try:
                            connection.sendall(b"H")
                        except OSError:
                            return

            threading.Thread(target=drip, daemon=True).start()
            guardian = Guardian(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.3)
            self.assertEqual("guardian_unavailable", self.of(guardian))
            stop.set()

    def test_key_and_address_come_from_the_environment(self) -> None:
        with Server(decision("allow")) as server:
            with mock.patch.dict(os.environ, {"GUARDIAN_URL": server.url + "/aos", "GUARDIAN_KEY": "k-1"}):
                Guardian().guard_user("x")
            self.assertEqual("Bearer k-1", server.headers[0]["Authorization"])

    def test_settings_that_cannot_work_are_refused(self) -> None:
        for url in ("ftp://host", "localhost:8787", "http://", "http://host/a b"):
            with self.subTest(url), self.assertRaises(ValueError):
                Guardian(url)
        with self.assertRaises(ValueError):
            Guardian(api_key="a\r\nX: y")
        with self.assertRaises(ValueError):
            Guardian(on_failure="open")  # type: ignore[arg-type]


@unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
class Tls(unittest.TestCase):
    def test_only_a_server_with_a_known_certificate_is_asked(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Server(decision("allow")) as server:
            certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
            name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
            make = [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-keyout",
                str(key),
                "-out",
                str(certificate),
                *name,
            ]
            subprocess.run(make, check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
            url = server.url.replace("http:", "https:")
            known = Guardian(url, tls=ssl.create_default_context(cafile=str(certificate)))
            self.assertEqual("x", known.guard_user("x"))
            self.assertEqual("x", asyncio.run(known.awaitable().guard_user("x")))
            unknown = Guardian(url, on_failure="raise")
            with self.assertRaisesRegex(Unavailable, "CERTIFICATE_VERIFY_FAILED"):
                unknown.guard_user("x")
            with self.assertRaisesRegex(Unavailable, "CERTIFICATE_VERIFY_FAILED"):
                asyncio.run(unknown.awaitable().guard_user("x"))


class Awaited(unittest.IsolatedAsyncioTestCase):
    async def test_many_steps_are_judged_side_by_side(self) -> None:
        with Server(decision("allow")) as server:
            guardian = AsyncGuardian(server.url)
            values = [f"text {number}" for number in range(50)]
            self.assertEqual(values, await asyncio.gather(*(guardian.guard_answer(value) for value in values)))

    async def test_every_step_has_an_awaitable_form(self) -> None:
        with Server(masked) as server:
            guardian = AsyncGuardian(server.url)
            self.assertEqual("***", await guardian.guard_user("SECRET"))
            self.assertEqual({"a": "***"}, await guardian.guard_tool_call("t", {"a": "SECRET"}, "c"))
            self.assertEqual("***", await guardian.guard_tool_result("c", "SECRET"))
            self.assertEqual(["***"], await guardian.guard_memory_store(["SECRET"]))
            self.assertEqual(["***"], await guardian.guard_memory_retrieval(["SECRET"]))
            self.assertEqual(["***"], await guardian.guard_knowledge(["SECRET"]))
            self.assertEqual("***", await guardian.guard_trigger("SECRET", "email", "1"))
            self.assertEqual({"a": "***"}, await guardian.guard_mcp({"a": "SECRET"}))

    async def test_a_cancelled_question_ends_at_once(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            guardian = AsyncGuardian(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=60)
            question = asyncio.create_task(guardian.guard_user("x"))
            await asyncio.sleep(0)
            question.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await question


if __name__ == "__main__":
    unittest.main()
