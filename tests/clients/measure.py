"""What a gateway costs: the same requests directly and through it, in turns, in one run; and many streams at once.

    tests/clients/measure.py GUARDIAN [STREAMS]      GUARDIAN: the binary, built for release

Everything is settled by rules. Only the standard library is needed. The agent, the guardian and the caller share the machine, so what
is reported is the difference of two medians, and the memory of the guardian alone.
"""

import asyncio
import json
import multiprocessing
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

AGENT, GUARDIAN = 8941, 8942
ROUNDS = 3_000
CHUNKS = 20


def event(value: dict) -> bytes:
    data = f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': value})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An agent that answers at once, or chunk by chunk."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            asked = json.loads(await reader.readexactly(length))
            if asked["method"] == "message/stream":
                await stream(writer)
                continue
            parts = [{"kind": "text", "text": "Oslo: rain, 9 degrees."}]
            result = {"kind": "message", "role": "agent", "messageId": "m-2", "parts": parts}
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def stream(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    task = {"taskId": "t-1", "contextId": "c-1"}
    for number in range(CHUNKS):
        artifact = {"artifactId": "a", "parts": [{"kind": "text", "text": f"It rains in town number {number}. "}]}
        writer.write(event({"kind": "artifact-update", **task, "artifact": artifact, "append": number > 0}))
        await writer.drain()
        await asyncio.sleep(0.5)
    writer.write(event({"kind": "status-update", **task, "final": True, "status": {"state": "completed"}}) + b"0\r\n\r\n")
    await writer.drain()


def agent() -> None:
    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", AGENT, backlog=4096)
        await server.serve_forever()

    asyncio.run(run())


def request(method: str, number: int, path: str) -> bytes:
    parts = [{"kind": "text", "text": f"What is the weather in town number {number}?"}]
    params = {"message": {"kind": "message", "role": "user", "messageId": f"m-{number}", "parts": parts}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return b"POST %s HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        path.encode(), len(body), body)


class Caller:
    """One connection that is kept."""

    def __init__(self, port: int, path: str):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.path = path

    def ask(self, number: int) -> float:
        text = request("message/send", number, self.path)
        begun = time.perf_counter()
        self.socket.sendall(text)
        got = b""
        while b"\r\n\r\n" not in got or not got.rstrip().endswith(b"}"):
            got += self.socket.recv(65536)
        took = time.perf_counter() - begun
        assert b"9 degrees" in got, got
        return took


def overhead(pid: int) -> None:
    direct, through = Caller(AGENT, "/"), Caller(GUARDIAN, "/gw/")
    times: dict[str, list[float]] = {"direct": [], "through": []}
    worked = 0.0
    for number in range(ROUNDS + 200):
        if number == 200:
            worked = cpu(pid)
        took = {"direct": direct.ask(number), "through": through.ask(number)}
        if number >= 200:
            for name, seconds in took.items():
                times[name].append(seconds * 1_000)
    for name, found in times.items():
        found.sort()
        print(f"{name}: median {statistics.median(found):.3f} ms, 95% {found[int(len(found) * 0.95)]:.3f} ms")
    print(f"CPU of the guardian: {(cpu(pid) - worked) * 1_000 / ROUNDS:.3f} ms for each request and its answer")
    print(f"overhead at the median: {statistics.median(times['through']) - statistics.median(times['direct']):.3f} ms")


def memory(pid: int) -> float:
    line = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def cpu(pid: int) -> float:
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def one_stream(number: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", GUARDIAN)
    writer.write(request("message/stream", number, "/gw/"))
    whole = b""
    while not whole.endswith(b"0\r\n\r\n"):
        chunk = await reader.read(65536)
        if not chunk:
            break
        whole += chunk
    writer.close()
    return whole.count(b"It rains in town") if b'"completed"' in whole else -1


async def streams(count: int, pid: int) -> None:
    for turn in range(3):
        before, begun, worked = memory(pid), time.perf_counter(), cpu(pid)
        tasks = [asyncio.create_task(one_stream(turn * count + number)) for number in range(count)]
        most = before
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.5)
            most = max(most, memory(pid))
        whole = sum(task.result() == CHUNKS for task in tasks)
        print(f"{count} streams, turn {turn + 1}: {whole} whole in {time.perf_counter() - begun:.1f} s, {cpu(pid) - worked:.1f} s of CPU; "
              f"memory {before:.0f} MB before, {most:.0f} MB at most, {memory(pid):.0f} MB after")


def main(guardian: str, count: int) -> None:
    folder = pathlib.Path(tempfile.mkdtemp())
    toml = folder / "guardian.toml"
    toml.write_text(
        f'listen = "127.0.0.1:{GUARDIAN}"\n[audit]\nto = "off"\n[limits]\nmax_connections = 20000\nmax_connections_per_peer = 20000\n'
        f'[[gateways]]\nprotocol = "a2a"\nlisten = "/gw"\nupstream = "http://127.0.0.1:{AGENT}"\ndirection = "egress"\n'
    )
    behind = multiprocessing.Process(target=agent, daemon=True)
    behind.start()
    log = open(folder / "guardian.log", "w")
    process = subprocess.Popen([guardian, "serve", "--config", str(toml)], stderr=log, stdout=log)
    try:
        for port in (AGENT, GUARDIAN):
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                sys.exit(f"nothing listens on {port}: see {folder}")
        overhead(process.pid)
        asyncio.run(streams(count, process.pid))
        metrics = subprocess.run(["curl", "-s", f"http://127.0.0.1:{GUARDIAN}/metrics"], capture_output=True, text=True).stdout
        print("\n".join(line for line in metrics.splitlines() if line.startswith("guardian_gateway_under_way")))
    finally:
        process.terminate()
        behind.terminate()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)
