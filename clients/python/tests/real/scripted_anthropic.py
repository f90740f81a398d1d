"""An endpoint of the Messages API on this machine that does what a script says, for programs that cannot be given a model."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = list[tuple[str, dict[str, Any]]] | str


class ScriptedAnthropic:
    """`asked` has the bodies of the requests that came with tools; others (titles, summaries) are answered and not kept."""

    def __init__(self, script: list[Turn]):
        self.asked: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                turn: Turn = "ok"
                if body.get("tools"):
                    turn = script[min(len(outer.asked), len(script) - 1)]
                    outer.asked.append(body)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for event in _events(body.get("model", "scripted"), turn, len(outer.asked)):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> ScriptedAnthropic:
        return self

    def __exit__(self, *_: Any) -> None:
        self.http.shutdown()
        self.http.server_close()

    def results(self) -> list[str]:
        """The results of tools that the model read."""
        messages = self.asked[-1]["messages"] if self.asked else []
        blocks = [block for each in messages if isinstance(each["content"], list) for block in each["content"]]
        return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


def _events(model: str, turn: Turn, step: int) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{step}", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}]
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = (
        [({"type": "text", "text": ""}, {"type": "text_delta", "text": turn})]
        if isinstance(turn, str)
        else [
            (
                {"type": "tool_use", "id": f"toolu_{step}_{index}", "name": name, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(given)},
            )
            for index, (name, given) in enumerate(turn)
        ]
    )
    for index, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    reason = "end_turn" if isinstance(turn, str) else "tool_use"
    events.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage})
    return [*events, {"type": "message_stop"}]
