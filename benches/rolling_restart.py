#!/usr/bin/env python3
"""Three guardians behind a load balancer are restarted one after the other while clients post steps.

  benches/rolling_restart.py [--guardian target/release/guardian] [--balancer haproxy|nginx] [--rolls 3] [--clients 8]

Every request has to be answered with a verdict, and every verdict that a client got has to have its audit record. Prints a table; the exit
code is 1 where one is missing. Needs haproxy or nginx; uses Redis on its standard port for shared state, where there is one."""

import argparse, json, os, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request, uuid

arguments = argparse.ArgumentParser()
arguments.add_argument("--guardian", default="target/release/guardian")
arguments.add_argument("--balancer", choices=["haproxy", "nginx"], default="haproxy")
arguments.add_argument("--rolls", type=int, default=2)
arguments.add_argument("--clients", type=int, default=8)
options = arguments.parse_args()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


class Node:
    def __init__(self, folder, number, shared):
        self.port, self.folder = free_port(), f"{folder}/node-{number}"
        os.mkdir(self.folder)
        with open(f"{self.folder}/guardian.toml", "w") as config:
            config.write(f'listen = "127.0.0.1:{self.port}"\n[limits]\ndrain_delay_ms = 1000\n{shared}'
                         '[audit]\nto = "audit.jsonl"\non_failure = "refuse"\n')
        self.log = open(f"{self.folder}/log", "ab")

    def start(self):
        self.process = subprocess.Popen([options.guardian, "serve", "--config", f"{self.folder}/guardian.toml"], stderr=self.log)
        while not get(self.port, "readyz"):
            time.sleep(0.02)

    def restart(self):
        """Answers how long it took to stop, and to be ready again."""
        begun = time.time()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert code == 0, f"it ended with {code}"
        stopped = time.time()
        self.start()
        return stopped - begun, time.time() - stopped

    def records(self):
        with open(f"{self.folder}/audit.jsonl") as lines:
            return {json.loads(line)["decision_id"] for line in lines}


def balancer(folder, port, nodes):
    if options.balancer == "haproxy":
        servers = "".join(f"  server n{node.port} 127.0.0.1:{node.port} check\n" for node in nodes)
        text = ("defaults\n  mode http\n  timeout connect 1s\n  timeout client 60s\n  timeout server 60s\n"
                "  retries 3\n  option redispatch 1\n  retry-on conn-failure\n"
                f"frontend in\n  bind 127.0.0.1:{port}\n  default_backend guardians\n"
                "backend guardians\n  balance leastconn\n  option httpchk GET /readyz\n"
                f"  default-server inter 200ms fall 1 rise 1\n{servers}")
        command = ["haproxy", "-db", "-q", "-f", f"{folder}/balancer.conf"]
    else:
        servers = "".join(f"server 127.0.0.1:{node.port} max_fails=1 fail_timeout=1s; " for node in nodes)
        text = (f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{ worker_connections 1024; }}\n"
                f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
                f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
                f"upstream guardians {{ least_conn; {servers} }}\n"
                f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://guardians; proxy_http_version 1.1;\n"
                'proxy_set_header Host localhost; proxy_set_header Connection ""; proxy_connect_timeout 1s; proxy_next_upstream error timeout; } } }\n')
        command = ["nginx", "-c", f"{folder}/balancer.conf"]
    with open(f"{folder}/balancer.conf", "w") as config:
        config.write(text)
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not get(port, "healthz"):
        time.sleep(0.02)
    return process


class Client(threading.Thread):
    def __init__(self, port, stop):
        super().__init__()
        self.url, self.stop = f"http://127.0.0.1:{port}/", stop
        self.told, self.wrong, self.waits = [], [], []

    def run(self):
        session, number = uuid.uuid4().hex, 0
        while not self.stop.is_set():
            number += 1
            step = {"jsonrpc": "2.0", "id": number, "method": "steps/message", "params": {
                "context": {"agent": {"id": "desk", "name": "desk"}, "session": {"id": f"{session}-{number // 20}"}},
                "message": {"id": f"m{number}", "role": "user",
                            "content": [{"kind": "text", "text": f"What do {number} hammers cost?"}]}}}
            request = urllib.request.Request(self.url, json.dumps(step).encode(), {"content-type": "application/json", "host": "localhost"})
            begun = time.time()
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    self.told.append(json.load(answer)["result"]["data"]["decisionId"])
            except Exception as error:
                self.wrong.append(f"{type(error).__name__}: {error}")
            self.waits.append(time.time() - begun)


def main():
    shared = ""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 6379)) == 0:
            shared = f'[shared]\nredis = "redis://127.0.0.1:6379"\nprefix = "roll-{uuid.uuid4().hex}"\n'
    with tempfile.TemporaryDirectory() as folder:
        nodes = [Node(folder, number, shared) for number in range(3)]
        port = free_port()
        for node in nodes:
            node.start()
        front = balancer(folder, port, nodes)
        stop = threading.Event()
        clients = [Client(port, stop) for _ in range(options.clients)]
        try:
            begun = time.time()
            for client in clients:
                client.start()
            time.sleep(2)
            times = [node.restart() for _ in range(options.rolls) for node in nodes]
            time.sleep(2)
            stop.set()
            for client in clients:
                client.join()
            lasted = time.time() - begun
        finally:
            stop.set()
            front.terminate()
            for node in nodes:
                node.process.send_signal(signal.SIGTERM)
            for node in nodes:
                node.process.wait(60)
        records = set().union(*(node.records() for node in nodes))
        told = [id for client in clients for id in client.told]
        wrong = [why for client in clients for why in client.wrong]
        waits = sorted(wait for client in clients for wait in client.waits)
        lost = [id for id in told if id not in records]
        print(f"balancer                        {options.balancer}, shared state {'in Redis' if shared else 'off'}")
        print(f"restarts under load             {len(times)} in {lasted:.0f} s, {options.clients} clients")
        print(f"requests                        {len(told) + len(wrong)}")
        print(f"without a verdict               {len(wrong)} {sorted(set(wrong))[:3] if wrong else ''}")
        print(f"acknowledged without a record   {len(lost)}")
        print(f"told twice                      {len(told) - len(set(told))}")
        print(f"recorded, verdict not received  {len(records - set(told))}")
        print(f"seconds to stop, to be ready    {max(t[0] for t in times):.2f}, {max(t[1] for t in times):.2f} (longest)")
        print(f"wait, median and longest        {waits[len(waits) // 2] * 1e3:.1f} ms, {waits[-1] * 1e3:.0f} ms")
        sys.exit(1 if lost or wrong else 0)


main()
