"""The same requests to a server directly and through the gateway, right and wrong ones: what differs is printed, and counted.

    conformance.py DIRECT THROUGH PROTOCOL      PROTOCOL: a2a-0.3, a2a-1.0, agentvault, agent-protocol

What is compared is what a test kit looks at: the status, the kind of body, the code of an error, the shape of a result, the names and
order of events. Ids, times and addresses differ in any case.
"""

import json
import sys
import uuid

import httpx

HEADERS = {"content-type": "application/json"}
# What is known to differ: the gateway asks for `jsonrpc`, gives an error without a request's id the id null, as JSON-RPC wants it, and puts
# what is not JSON-RPC into an error of it.
KNOWN = {
    "a2a-0.3": {"no version", "no JSON", "nothing", "a number", "null id"},
    "a2a-1.0": set(),
    "agentvault": {"get", "get none", "send nothing"},
    "agent-protocol": set(),
}


def rpc(method, params=None, **more):
    request = {"jsonrpc": "2.0", "id": 7, "method": method, **more}
    return json.dumps(request | ({} if params is None else {"params": params}))


def shape(value, depth=0):
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        if "code" in value and "message" in value:
            return {"code": value["code"]}
        return {name: shape(one, depth + 1) for name, one in sorted(value.items())}
    if isinstance(value, list):
        return [shape(one, depth + 1) for one in value]
    if isinstance(value, str) and (len(value) > 24 or "://" in value or "T" in value and ":" in value):
        return "..."
    return value


def seen(response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "").split(";")[0]
    if kind == "text/event-stream":
        lines = [line for line in response.text.splitlines() if line.startswith(("event:", "data:")) and line.strip() != "data:"]
        read = [line if not line.startswith("data: {") else shape(json.loads(line[6:])) for line in lines]
        return json.dumps([response.status_code, "events", read], sort_keys=True)
    try:
        return json.dumps([response.status_code, "json", shape(response.json())], sort_keys=True)
    except ValueError:
        return json.dumps([response.status_code, kind, bool(response.content)])


def message_03(text="What is the weather in Oslo?", **more):
    return {"kind": "message", "role": "user", "messageId": str(uuid.uuid4()), "parts": [{"kind": "text", "text": text}], **more}


def message_10(text="What is the weather in Oslo?", **more):
    return {"role": "ROLE_USER", "messageId": str(uuid.uuid4()), "parts": [{"text": text}], **more}


def a2a(http, base, path, send, stream, get, cancel, resubscribe, push, listing, message):
    """Cases of JSON-RPC: a name, and what to post."""
    url = base + path
    done = http.post(url, content=rpc(send, {"message": message()}), headers=HEADERS).json()
    result = done.get("result", {})
    task = (result.get("task") or result).get("id", "none")
    cases = {
        "send": rpc(send, {"message": message()}),
        "send with history": rpc(send, {"message": message(), "configuration": {"historyLength": 1, "acceptedOutputModes": ["text/plain"]}}),
        "send at once": rpc(send, {"message": message(), "configuration": {"blocking": False, "returnImmediately": True}}),
        "stream": rpc(stream, {"message": message()}),
        "get": rpc(get, {"id": task}),
        "get with history": rpc(get, {"id": task, "historyLength": 0}),
        "get none": rpc(get, {"id": "none"}),
        "get without id": rpc(get, {}),
        "get with a wrong id": rpc(get, {"id": 5}),
        "cancel done": rpc(cancel, {"id": task}),
        "cancel none": rpc(cancel, {"id": "none"}),
        "resubscribe done": rpc(resubscribe, {"id": task}),
        "resubscribe none": rpc(resubscribe, {"id": "none"}),
        "send to a done task": rpc(send, {"message": message(taskId=task)}),
        "send to no task": rpc(send, {"message": message(taskId="none")}),
        "send without message": rpc(send, {}),
        "send without parts": rpc(send, {"message": message() | {"parts": []}}),
        "send without params": rpc(send),
        "send with unknown members": rpc(send, {"message": message(), "unknown": {"a": [1, 2.50, None]}}),
        "send with metadata": rpc(send, {"message": message(metadata={"a": 1}), "metadata": {"b": "x"}}),
        "data part": rpc(send, {"message": message() | {"parts": [{"kind": "data", "data": {"a": 1}}]}}),
        "unicode": rpc(send, {"message": message("Wetter in Zürich? \u2028 \U0001f600 \u0000 \"quoted\"")}),
        "long": rpc(send, {"message": message("What is the weather in Oslo? " * 300)}),
        "push get": rpc(push, {"id": task, "taskId": task, "pushNotificationConfigId": "x"}),
        "list": rpc(listing, {"pageSize": 1}),
        "unknown method": rpc("tasks/unknown", {}),
        "string id": rpc(get, {"id": "none"}).replace('"id": 7', '"id": "seven"'),
        "null id": rpc(get, {"id": "none"}).replace('"id": 7', '"id": null'),
        "no version": rpc(get, {"id": task}).replace('"jsonrpc": "2.0", ', ""),
        "wrong version": rpc(get, {"id": task}).replace("2.0", "1.0"),
        "no method": json.dumps({"jsonrpc": "2.0", "id": 7}),
        "no JSON": "{not json",
        "nothing": "",
        "a number": "5",
    }
    return {name: lambda body=body: http.post(url, content=body, headers=HEADERS) for name, body in cases.items()}


def rest(http, base):
    send = lambda: {"message": message_10()}  # noqa: E731
    task = http.post(f"{base}/message:send", json=send()).json()["task"]["id"]
    return {
        "rest send": lambda: http.post(f"{base}/message:send", json=send()),
        "rest stream": lambda: http.post(f"{base}/message:stream", json=send()),
        "rest get": lambda: http.get(f"{base}/tasks/{task}"),
        "rest get with history": lambda: http.get(f"{base}/tasks/{task}?historyLength=0"),
        "rest get none": lambda: http.get(f"{base}/tasks/none"),
        "rest list": lambda: http.get(f"{base}/tasks?pageSize=1"),
        "rest cancel": lambda: http.post(f"{base}/tasks/{task}:cancel", json={}),
        "rest send nothing": lambda: http.post(f"{base}/message:send", json={}),
    }


def vault(http, base):
    def send(**more):
        return {"message": {"role": "user", "parts": [{"type": "text", "content": "What is the weather in Oslo?"}]}, **more}

    post = lambda body: http.post(f"{base}/a2a/", content=body, headers=HEADERS, follow_redirects=True)  # noqa: E731
    task = post(rpc("tasks/send", send())).json()["result"]["id"]
    cases = {
        "send": rpc("tasks/send", send()), "get": rpc("tasks/get", {"id": task}), "get none": rpc("tasks/get", {"id": "none"}),
        "cancel": rpc("tasks/cancel", {"id": task}), "cancel none": rpc("tasks/cancel", {"id": "none"}),
        "send nothing": rpc("tasks/send", {}), "unknown method": rpc("tasks/unknown", {}), "no JSON": "{",
        "with unknown members": rpc("tasks/send", send(metadata={"a": 1.50})),
    }
    return {name: lambda body=body: post(body) for name, body in cases.items()}


def agentic(http, base):
    begun = http.post(f"{base}/weather/process", json={"prompt": "Weather?"}).json()["request_id"]
    return {
        "discovery": lambda: http.get(f"{base}/_discovery"),
        "describe": lambda: http.get(f"{base}/weather/describe"),
        "describe nobody": lambda: http.get(f"{base}/nobody/describe"),
        "process": lambda: http.post(f"{base}/weather/process", json={"prompt": "Weather?", "debug": ""}),
        "process in a thread": lambda: http.post(f"{base}/weather/process", json={"prompt": "Weather?", "thread_id": "t-1"}),
        "process nothing": lambda: http.post(f"{base}/weather/process", json={}),
        "events": lambda: http.get(f"{base}/weather/getevents?request_id={begun}"),
        "event stream": lambda: http.get(f"{base}/weather/getevents?request_id={begun}&stream=true"),
        "events of nothing": lambda: http.get(f"{base}/weather/getevents"),
        "stream_request": lambda: http.post(f"{base}/weather/stream_request", json={"prompt": "Weather?"}),
        "resume": lambda: http.post(f"{base}/weather/resume", json={"continue_result": {"a": "b"}}),
        "threads": lambda: http.get(f"{base}/weather/threads"),
        "reset": lambda: http.post(f"{base}/weather/reset", json={}),
    }


OLD = ("message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe", "tasks/pushNotificationConfig/get", "tasks/list")
NEW = ("SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "SubscribeToTask", "GetTaskPushNotificationConfig", "ListTasks")


def cases(http, base, protocol):
    match protocol:
        case "a2a-0.3":
            return a2a(http, base, "/", *OLD, message_03)
        case "a2a-1.0":
            return a2a(http, base, "/rpc", *NEW, message_10) | rest(http, base + "/rest")
        case "agentvault":
            return vault(http, base)
        case "agent-protocol":
            return agentic(http, base)


def main(direct: str, through: str, protocol: str) -> None:
    headers = {"a2a-version": "1.0"} if protocol == "a2a-1.0" else {}
    with httpx.Client(timeout=30, headers=headers) as http:
        expected, found = cases(http, direct, protocol), cases(http, through, protocol)
        differ = set()
        for name in expected:
            one, other = seen(expected[name]()), seen(found[name]())
            if one != other:
                differ.add(name)
            if one != other and name not in KNOWN[protocol]:
                print(f"  {protocol}, {name}:\n    directly {one[:300]}\n    through  {other[:300]}")
        unknown = differ - KNOWN[protocol]
        print(f"{'FAILED' if unknown else 'ok'}: {protocol}, {len(expected)} requests directly and through the gateway, "
              f"{len(differ)} answered otherwise, {len(unknown)} of them in a way that is not known")
        sys.exit(1 if unknown else 0)


main(*(argument.rstrip("/") for argument in sys.argv[1:4]))
