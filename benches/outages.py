#!/usr/bin/env python3
"""Three guardians behind a load balancer, and what they share is taken from them one thing after the other while clients post steps.

  benches/outages.py [--guardian target/release/guardian] [--balancer haproxy|nginx] [--clients 12] [--outage 60] [--check]

A node is killed, Redis stopped, Redis filled up, PostgreSQL made unreachable, NATS stopped, and every node restarted. Each verdict is one that is known
beforehand, a quarter of them only from the session's steps on other nodes. Prints a table; the exit code is 1 where a verdict is wrong or where a verdict that a
client got has no audit record. With --check nothing is taken away: limits hold over all nodes, equal steps that come at once are one question to the judge, and the chains of
evals/ get the verdicts that one node alone gives. Needs haproxy or nginx, redis-server, redis-cli, nats-server, psql, and a PostgreSQL (`--postgres`); Redis and NATS are its own."""

import argparse, concurrent.futures, hashlib, http.server, json, os, random, signal, socket, subprocess, sys, tempfile, threading, time, urllib.error, urllib.request, uuid

arguments = argparse.ArgumentParser()
arguments.add_argument("--guardian", default="target/release/guardian")
arguments.add_argument("--balancer", choices=["haproxy", "nginx"], default="haproxy")
arguments.add_argument("--postgres", default="postgres://postgres@127.0.0.1:5432/postgres")
arguments.add_argument("--clients", type=int, default=12)
arguments.add_argument("--check", action="store_true")
arguments.add_argument("--only", default="", help="phases whose name has one of these words, with commas")
arguments.add_argument("--outage", type=float, default=60, help="seconds that each thing is away")
options = arguments.parse_args()
ORGANISATIONS, SESSIONS = 10, 200
# When a whole phase is over although something did not come back.
MOST_SECONDS = 120


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def page(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=2) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except OSError:
        return ""


def ready(port):
    return page(port, "readyz").startswith("ready")


def sql(statement):
    return subprocess.run(["psql", "-qtA", options.postgres, "-c", statement], check=True, capture_output=True, text=True).stdout


class Wire:
    """Stands between the nodes and PostgreSQL, and can be cut."""

    def __init__(self, host, port):
        self.target, self.open, self.is_cut = (host, port), set(), False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.is_cut:
                client.close()
                continue
            server = socket.create_connection(self.target)
            self.open |= {client, server}
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, to):
        try:
            while data := source.recv(65536):
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            self.open.discard(end)
            end.close()

    def cut(self):
        self.is_cut = True
        for end in list(self.open):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def mend(self):
        self.is_cut = False


class Engine:
    """A server of our own that can be stopped and started."""

    def __init__(self, *command):
        self.command = command
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Node:
    def __init__(self, folder, number, shared):
        self.port, self.folder = free_port(), f"{folder}/node-{number}"
        os.mkdir(self.folder)
        with open(f"{self.folder}/guardian.toml", "w") as config:
            config.write(f'listen = "127.0.0.1:{self.port}"\n{shared}spool = "{self.folder}/spool"\n')
        self.log = open(f"{self.folder}/log", "ab")

    def start(self):
        self.process = subprocess.Popen([options.guardian, "serve", "--config", f"{self.folder}/guardian.toml"], stderr=self.log)

    def wait(self):
        while not ready(self.port):
            assert self.process.poll() is None, f"it ended: see {self.folder}/log"
            time.sleep(0.02)

    def spooled(self):
        return os.path.getsize(f"{self.folder}/spool")

    def events(self):
        lines = page(self.port, "metrics").splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith('guardian_events_total{outcome="sent"'))


def balancer(folder, port, nodes):
    if options.balancer == "haproxy":
        servers = "".join(f"  server n{node.port} 127.0.0.1:{node.port} check\n" for node in nodes)
        text = ("defaults\n  mode http\n  timeout connect 1s\n  timeout client 60s\n  timeout server 60s\n  timeout check 2s\n"
                "  retries 3\n  option redispatch 1\n  retry-on conn-failure\n"
                f"frontend in\n  bind 127.0.0.1:{port}\n  default_backend guardians\n"
                "backend guardians\n  balance random\n  option httpchk GET /readyz\n"
                f"  default-server inter 200ms fall 1 rise 1\n{servers}")
        command = ["haproxy", "-db", "-q", "-f", f"{folder}/balancer.conf"]
    else:
        servers = "".join(f"server 127.0.0.1:{node.port} max_fails=1 fail_timeout=1s; " for node in nodes)
        text = (f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{ worker_connections 1024; }}\n"
                f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n"
                f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
                f"upstream guardians {{ random; {servers} }}\n"
                f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://guardians; proxy_http_version 1.1;\n"
                'proxy_set_header Host localhost; proxy_set_header Connection ""; proxy_connect_timeout 1s; proxy_next_upstream error timeout; } } }\n')
        command = ["nginx", "-c", f"{folder}/balancer.conf"]
    with open(f"{folder}/balancer.conf", "w") as config:
        config.write(text)
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not page(port, "healthz"):
        time.sleep(0.02)
    return process


class Session:
    """Steps one after the other, and which verdict each has to get. A verdict that needs an earlier step, and says that this is not known, is counted apart."""

    def __init__(self, number):
        self.number, self.organisation, self.lock = number, number % ORGANISATIONS, threading.Lock()
        self.begin()

    def begin(self):
        self.id, self.steps = uuid.uuid4().hex, 0

    def next(self):
        self.steps += 1
        file = f"/tmp/{self.id}.sh"
        ends = self.steps >= 20
        if self.number % 4 == 0:
            made = "deny", self.call("bash", command="rm -rf / --no-preserve-root")
        elif self.number % 4 == 1 and self.steps == 2:
            made = "allow", self.call("write_file", path=file, content="echo ok\nrm -rf ~/\n")
        elif self.number % 4 == 1 and self.steps > 2:
            # Harmless by itself: only the session says what the file holds.
            made, ends = ("deny", self.call("bash", command=f"sh {file}")), True
        else:
            made = "allow", self.step("steps/message", message={"id": "m", "role": "user", "content": [
                {"kind": "text", "text": f"What do {self.steps} hammers cost?"}]})
        if ends:
            self.begin()
        return made

    def call(self, tool, **values):
        values = [{"name": name, "value": value} for name, value in values.items()]
        return self.step("steps/toolCallRequest", toolCallRequest={
            "executionId": uuid.uuid4().hex, "toolId": tool, "inputs": values})

    def step(self, method, **params):
        context = {"agent": {"id": "desk", "name": "desk", "tools": [{"id": name, "name": name} for name in ("bash", "write_file")]},
                   "session": {"id": self.id}}
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"context": context, **params}}


class Phase:
    def __init__(self, name):
        self.name, self.lock, self.begun = name, threading.Lock(), time.time()
        self.requests, self.refused, self.wrong, self.incomplete, self.told, self.waits, self.recovery = 0, {}, [], 0, [], [], None


class Client(threading.Thread):
    def __init__(self, port, keys, sessions, phase, stop):
        super().__init__()
        self.url, self.keys, self.sessions, self.phase, self.stop = f"http://127.0.0.1:{port}/", keys, sessions, phase, stop

    def run(self):
        while not self.stop.is_set():
            session = random.choice(self.sessions)
            if session.lock.acquire(blocking=False):
                try:
                    self.post(session)
                finally:
                    session.lock.release()

    def post(self, session):
        expected, step = session.next()
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.keys[session.organisation]}"}
        begun, why, told = time.time(), None, None
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, json.dumps(step).encode(), headers), timeout=30) as answer:
                told = json.load(answer)
            why = None if "result" in told else f"error {told['error']['code']}"
        except urllib.error.HTTPError as error:
            of = "" if error.read().startswith(b"{") else " of the balancer"
            why = f"HTTP {error.code}{of}"
        except Exception as error:
            why = type(error).__name__
        # What is under way when something is taken away is met by that.
        phase = self.phase[0]
        with phase.lock:
            phase.requests += 1
            phase.waits.append(time.time() - begun)
            if why:
                phase.refused[why] = phase.refused.get(why, 0) + 1
                # The session may have this step or not.
                session.begin()
                return
            result = told["result"]
            phase.told.append(result["data"]["decisionId"])
            notes = [note["code"] if isinstance(note, dict) else note for note in result["data"].get("diagnostics") or []]
            if result["decision"] == expected:
                return
            if expected == "deny" and session.number % 4 == 1 and "session_incomplete" in notes:
                phase.incomplete += 1
            else:
                phase.wrong.append(f"{time.time() - phase.begun:.2f} s after {phase.name}, {result['data']['decisionId']} in {session.id}: "
                                   f"{expected} expected: {result['decision']}, {result.get('reasoning', '')[:200]}, {notes}")


class Cluster:
    def __init__(self, folder, more="", nodes=3):
        self.folder, self.schema = tempfile.mkdtemp(dir=folder), f"outages_{uuid.uuid4().hex}"
        folder = self.folder
        sql(f"CREATE SCHEMA {self.schema}")
        host, port = options.postgres.split("@")[-1].split("/")[0].split(":")
        self.wire, self.redis_port, self.nats_port = Wire(host, int(port)), free_port(), free_port()
        self.redis = Engine("redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", "", "--dir", folder)
        self.nats = Engine("nats-server", "-js", "-a", "127.0.0.1", "-p", str(self.nats_port), "-sd", f"{folder}/nats")
        self.keys = [f"outages-key-{uuid.uuid4().hex}" for _ in range(ORGANISATIONS)]
        organisations = "".join(f'[[organisations]]\nid = "o{n}"\napi_keys = ["sha256:{hashlib.sha256(key.encode()).hexdigest()}"]\n'
                                for n, key in enumerate(self.keys))
        database = options.postgres.replace(f"{host}:{port}", f"127.0.0.1:{self.wire.port}")
        redis = f'[shared]\nredis = "redis://127.0.0.1:{self.redis_port}"\n' if nodes > 1 else ""
        shared = (f'[limits]\ndrain_delay_ms = 1000\n{more}{redis}'
                  f'[events]\nnats = "nats://127.0.0.1:{self.nats_port}"\n{organisations}'
                  f'[audit]\nto = "{database}?options=-csearch_path%3D{self.schema}"\non_failure = "refuse"\n')
        self.nodes = [Node(folder, number, shared) for number in range(nodes)]
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait()
        self.port = free_port()
        self.front = balancer(folder, self.port, self.nodes)

    def end(self):
        self.front.terminate()
        for node in self.nodes:
            node.process.send_signal(signal.SIGTERM)
        for node in self.nodes:
            node.process.wait(60)
        self.redis.stop()
        self.nats.stop()

    def drop(self):
        sql(f"DROP SCHEMA {self.schema} CASCADE")

    def ask(self, step, organisation=0):
        """Decision and reason codes of a step, or the error."""
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.keys[organisation]}"}
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}/", json.dumps(step).encode(), headers), timeout=60) as answer:
                told = json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read()
            if not text.startswith(b"{"):
                # The balancer: no node was asked.
                time.sleep(0.2)
                return self.ask(step, organisation)
            told = json.loads(text)
        if "error" in told:
            return told["error"]["code"], []
        return told["result"]["decision"], sorted(told["result"].get("reasonCode") or [])

    # Each takes something away, and answers what gives it back and when all is well again.

    def nothing(self):
        return lambda: None, lambda: True

    def kill_node(self):
        node = self.nodes[0]
        node.process.kill()
        node.process.wait()
        return node.start, lambda: ready(node.port)

    def stop_redis(self):
        self.redis.stop()
        return self.redis.start, self.redis_is_used

    def fill_redis(self):
        self.configure_redis("1mb")
        return lambda: self.configure_redis("0"), self.redis_is_used

    def configure_redis(self, memory):
        subprocess.run(["redis-cli", "-p", str(self.redis_port), "config", "set", "maxmemory", memory], check=True, capture_output=True)

    def redis_is_used(self):
        return all("shared state: answers" in page(node.port, "readyz") for node in self.nodes)

    def cut_postgres(self):
        self.wire.cut()
        return self.wire.mend, lambda: all(node.spooled() == 0 for node in self.nodes)

    def stop_nats(self):
        self.nats.stop()
        before = [node.events() for node in self.nodes]
        return self.nats.start, lambda: all(node.events() > sent for node, sent in zip(self.nodes, before))

    def roll(self):
        for node in self.nodes:
            node.process.send_signal(signal.SIGTERM)
            code = node.process.wait(60)
            assert code == 0, f"it ended with {code}"
            node.start()
            node.wait()
        return lambda: None, lambda: all(ready(node.port) for node in self.nodes)


class Judge(http.server.ThreadingHTTPServer):
    """Allows everything after half a second, and counts the questions."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), JudgeAnswers)
        self.asked, self.lock = 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class JudgeAnswers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.asked += 1
        time.sleep(0.5)
        prompt = asked["messages"][0]["content"]
        canary = next(line.split(": ", 1)[1] for line in prompt.splitlines() if line.startswith("canary: "))
        said = {"risk": "none", "authorization": "implied", "decision": "allow", "reason_codes": [], "confidence": 0.9, "reasoning": "asked for",
                "message": "", "edits": [], "canary": canary}
        answer = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "counting", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": json.dumps(said)}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def message(text, session=None):
    step = Session(0).step("steps/message", message={"id": "m", "role": "user", "content": [{"kind": "text", "text": text}]})
    step["params"]["context"]["session"]["id"] = session or uuid.uuid4().hex
    return step


def check_limit(folder, pool):
    """What one organisation gets through in 45 s at more than its limit: a minute's worth at once, then what comes in."""
    per_minute, seconds = 300, 45
    cluster = Cluster(folder, f"requests_per_minute = {per_minute}\n")
    begun, taken, lock = time.time(), [], threading.Lock()

    def flood(_):
        while time.time() - begun < seconds:
            if cluster.ask(message("What does a hammer cost?"))[0] == "allow":
                with lock:
                    taken.append(time.time() - begun)

    list(pool.map(flood, range(options.clients)))
    cluster.end()
    cluster.drop()
    right = per_minute + per_minute / 60 * max(taken)
    off = len(taken) / right - 1
    print(f"limit of {per_minute} a minute on three nodes: {len(taken)} steps in {max(taken):.1f} s, {right:.0f} are right ({off:+.1%})")
    return abs(off) <= 0.01


def check_judge(folder, pool):
    """Equal steps that come at once."""
    judge, rounds = Judge(), 20
    more = f'[local_judge]\nmode = "off"\n[judge]\nbase_url = "http://127.0.0.1:{judge.server_port}/v1"\nmodel = "counting"\ntimeout_ms = 30000\n'
    cluster, answers = Cluster(folder, more), set()
    for number in range(rounds):
        text = f"Please write a poem about hammer number {number} and read it out to the staff."
        answers |= {answer[0] for answer in pool.map(lambda _: cluster.ask(message(text)), range(options.clients))}
    cluster.end()
    cluster.drop()
    print(f"{rounds} different steps, each {options.clients} times at once on three nodes: {judge.asked} questions to the judge, answers {answers}")
    return judge.asked == rounds and answers == {"allow"}


def check_chains(folder, pool):
    """The chains of evals/ through the balancer and on one node alone."""
    clusters = [Cluster(folder, nodes=nodes) for nodes in (3, 1)]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../evals/chains.jsonl")) as lines:
        cases = [json.loads(line) for line in lines]

    def whole(value, case):
        if isinstance(value, list):
            return [whole(item, case) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            target = case
            for part in value["$ref"].removeprefix("#/").split("/"):
                target = target[int(part)] if isinstance(target, list) else target[part]
            return whole(target, case)
        return {key: whole(item, case) for key, item in value.items()}

    def decide(cluster, case):
        session, told = uuid.uuid4().hex, []
        for step in [*case.get("history", []), case["request"]]:
            step = whole(step, case)
            step["params"]["context"]["session"] = {"id": session}
            told.append(cluster.ask(step))
        return told

    both = list(pool.map(lambda case: [decide(cluster, case) for cluster in clusters], cases))
    for cluster in clusters:
        cluster.end()
        cluster.drop()
    steps = sum(len(three) for three, _ in both)
    other = [(case["id"], three, one) for case, (three, one) in zip(cases, both) if three != one]
    denied = sum(three[-1][0] == "deny" for three, _ in both)
    print(f"{len(cases)} chains, {steps} steps: {len(other)} chains get other verdicts on three nodes than on one; {denied} end with a denial")
    for difference in other[:5]:
        print(*difference)
    return not other


def check():
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.clients) as pool:
        right = [test(folder, pool) for test in (check_limit, check_judge, check_chains)]
    sys.exit(0 if all(right) else 1)


def main():
    phases = []
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(folder)
        stop, current = threading.Event(), [None]
        sessions = [Session(number) for number in range(SESSIONS)]
        clients = [Client(cluster.port, cluster.keys, sessions, current, stop) for _ in range(options.clients)]
        try:
            for name, take in [("nothing is away", cluster.nothing), ("a node killed (-9), started", cluster.kill_node),
                               ("Redis stopped, started empty", cluster.stop_redis), ("Redis full", cluster.fill_redis),
                               ("PostgreSQL unreachable", cluster.cut_postgres), ("NATS stopped, started", cluster.stop_nats),
                               ("all nodes restarted in turn", cluster.roll)]:
                if not any(word in name for word in options.only.split(",")):
                    continue
                current[0] = phase = Phase(name)
                phases.append(phase)
                if not clients[0].is_alive():
                    for client in clients:
                        client.start()
                give_back, is_well = take()
                time.sleep(options.outage if take != cluster.roll else 0)
                begun = time.time()
                give_back()
                while not is_well() and time.time() - begun < MOST_SECONDS:
                    time.sleep(0.05)
                phase.recovery = time.time() - begun
                # What is shared is merged, and who was killed has told what it knew.
                time.sleep(3)
                print(f"{name}: {phase.requests} requests", file=sys.stderr)
        finally:
            stop.set()
            for client in clients:
                if client.ident:
                    client.join()
            cluster.end()
        table = f"{cluster.schema}.guardian_records"
        records = set(sql(f"SELECT decision_id FROM {table}").split())
        verified = subprocess.run([options.guardian, "audit", "verify", "--config", f"{cluster.nodes[0].folder}/guardian.toml"],
                                  capture_output=True, text=True)
        cluster.drop()
        print("| | requests | refused | wrong verdicts | passed as `session_incomplete` | acknowledged records lost | seconds to recover | longest wait |")
        print("|---|---|---|---|---|---|---|---|")
        lost_in_all = wrong_in_all = 0
        for phase in phases:
            lost = [id for id in phase.told if id not in records]
            lost_in_all, wrong_in_all = lost_in_all + len(lost), wrong_in_all + len(phase.wrong)
            refused = ", ".join(f"{count} ({why})" for why, count in sorted(phase.refused.items())) or "0"
            longest = max(phase.waits, default=0)
            print(f"| {phase.name} | {phase.requests} | {refused} | {len(phase.wrong)} | {phase.incomplete} | {len(lost)} | {phase.recovery:.1f} | {longest:.1f} s |")
        for why in sorted({why for phase in phases for why in phase.wrong})[:10]:
            print(f"wrong: {why}")
        print(f"records {len(records)}; verify: {verified.stdout.splitlines()[-1] if verified.stdout else verified.stderr}")
        sys.exit(1 if lost_in_all or wrong_in_all or verified.returncode else 0)


check() if options.check else main()
