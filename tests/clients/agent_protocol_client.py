"""Asks the weather agent as the dashboard of Agent Protocol's reference implementation does, through the gateway: requests that are
begun, events that are polled or streamed until the turn ends, and requests that are streamed at once."""

import json
import sys

import httpx


def events(text: str) -> list[dict]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def ask(http: httpx.Client, prompt: str, stream: bool) -> list[dict]:
    begun = http.post("/weather/process", json={"prompt": prompt}).raise_for_status().json()
    query = {"request_id": begun["request_id"]} | ({"stream": "true"} if stream else {})
    answer = http.get("/weather/getevents", params=query).raise_for_status()
    return events(answer.text) if stream else answer.json()


def main(base: str) -> None:
    with httpx.Client(base_url=base, timeout=20) as http:
        assert http.get("/_discovery").json() == ["/weather"]
        assert http.get("/weather/describe").json()["name"] == "Weather"
        for stream in (True, False):
            for prompt in ("What is the weather in Oslo?", "Please inject.", "And the weather in Oslo now?"):
                said = ask(http, prompt, stream)
                text = "".join(event["payload"]["content"] for event in said if event["type"] == "chat_output")
                assert said[-1]["type"] == "turn_end", said
                assert "id_rsa" not in json.dumps(said), said
                assert ("[guardian]" if "inject" in prompt else "9 degrees") in text, said
            print(f"ok: agentic server, process and getevents, streaming={stream}")
        waiting = ask(http, "where am I?", True)
        assert waiting[-1]["type"] == "wait_for_input", waiting
        resumed = http.post("/weather/resume", json={"continue_result": {"city": "Oslo"}}).raise_for_status().json()
        assert resumed["request_id"], resumed
        for prompt in ("What is the weather in Oslo?", "Please inject.", "And the weather in Oslo now?"):
            text = http.post("/weather/stream_request", json={"prompt": prompt}).raise_for_status().text
            assert "id_rsa" not in text and ("[guardian]" if "inject" in prompt else "9 degrees") in text, text
        assert http.post("/weather/process", json={"input": "no prompt"}).status_code == 422
        print("ok: agentic server, stream_request, resume, errors of its own")


main(sys.argv[1])
