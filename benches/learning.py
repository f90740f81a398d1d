#!/usr/bin/env python3
"""What a guardian that learns from its judge still asks about: a stream of labelled steps against `guardian serve`, in order by session.

  benches/learning.py SUITE.jsonl… [--guardian target/release/guardian] [--attacks 0.05] [--wrong 0.03] [--rounds 20] [--steps 1500] [--seed 1]

The judge is a script that answers as the labels say and is wrong in a share of the steps it is asked about. Suites hold a labelled step a line, as `guardian eval`
reads them (`request`, `history`, `expected`). What happened before a step and has no label of its own is sent, answered by `allow`, and not counted; the last text from outside before a denied call is answered by `deny`.
Of each quarter of the stream prints who decided, attacks that a scorer let through, and honest steps that were denied although the judge allowed them."""

import argparse, collections, http.server, json, os, random, re, shutil, socket, subprocess, sys, tempfile, threading, time, urllib.request

arguments = argparse.ArgumentParser()
arguments.add_argument("suites", nargs="+")
arguments.add_argument("--guardian", default="target/release/guardian")
arguments.add_argument("--attacks", type=float, default=0.05, help="share of steps that are attacks, at most")
arguments.add_argument("--wrong", type=float, default=0.03, help="share of the judge's answers that are wrong")
arguments.add_argument("--rounds", type=int, default=20, help="how often it learns on the way; 0: never")
arguments.add_argument("--steps", type=int, default=1500)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("--change", default="", help="a suite whose sessions take over in the middle of the stream, with all of its attacks")
arguments.add_argument("--floor", help="a floor besides the built-in one (`guardian learn floor`)")
options = arguments.parse_args()
DICE = random.Random(options.seed)


def sessions(suites, attacks, most):
    """Sessions as lists of (id, request, label or None), as many as there is room for."""
    read = collections.defaultdict(list)
    for suite in suites:
        for line in open(suite):
            case = json.loads(line)
            if case["expected"]["decision"] != "modify":
                read[case["request"]["params"]["context"]["session"]["id"]].append(case)
    honest, harmful = [], []
    for cases in read.values():
        agent, labels = cases[0]["request"]["params"]["context"]["agent"], {}
        longest = max(cases, key=lambda case: len(case["history"]))
        steps = longest["history"] + [longest["request"]]
        for case in cases:
            labels[case["request"]["id"]] = case["expected"]["decision"] == "deny"
            if case["request"]["id"] not in [step["id"] for step in steps]:
                steps.append(case["request"])
        for step in steps:
            step["params"]["context"]["agent"] = agent
        told = [[step, labels.get(step["id"]), labels.get(step["id"]) or False] for step in steps]
        for at, (step, label, _) in enumerate(told):
            if label and step["method"] == "steps/toolCallRequest":
                outside = [one for one in told[:at] if one[1] is None and one[0]["method"] == "steps/toolCallResult"]
                if outside:
                    outside[-1][2] = True
        (harmful if any(label for _, label, _ in told) else honest).append(told)
    for some in (honest, harmful):
        DICE.shuffle(some)
    taken, steps, denied = [], 0, 0
    while honest and steps < most:
        room = harmful and denied + 1 <= attacks * (steps + 1)
        taken.append((harmful if room else honest).pop())
        steps += len(taken[-1])
        denied += sum(1 for _, label, _ in taken[-1] if label)
    return taken


class Judge(http.server.BaseHTTPRequestHandler):
    deny, asked = False, 0

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        canary = re.search(r"^canary: (.*)$", "\n".join(m["content"] for m in question["messages"]), re.M).group(1)
        Judge.asked += 1
        answer = {"risk": "high" if Judge.deny else "none", "authorization": "unknown" if Judge.deny else "implied", "confidence": 0.9, "edits": [],
                  "decision": "deny" if Judge.deny else "allow", "reason_codes": ["goal_hijack"] if Judge.deny else [], "reasoning": "-", "message": "-", "canary": canary}
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": json.dumps(answer)}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    stream = [step for session in sessions(options.suites, options.attacks, options.steps) for step in session]
    if options.change:
        stream = stream[: len(stream) // 2] + [step for session in sessions([options.change], 1.0, options.steps // 2) for step in session]
    folder, judge = tempfile.mkdtemp(), http.server.ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=judge.serve_forever, daemon=True).start()
    config = f"{folder}/guardian.toml"
    with open(config, "w") as file:
        file.write(f'[judge]\nbase_url = "http://127.0.0.1:{judge.server_port}/v1"\nmodel = "scripted"\ntimeout_ms = 30000\n[audit]\nto = "{folder}/audit.db"\n'
                   f'[limits]\nrequests_per_minute = 1000000\njudge_calls_per_minute = 1000000\n'
                   f'[learning]\nenabled = true\nmin_days = 1\nevery = "never"\ndirectory = "{folder}/learning"\n')
    port = free_port()
    log = open(f"{folder}/log", "w")
    server = subprocess.Popen([options.guardian, "serve", "--config", config, "--listen", f"127.0.0.1:{port}"], stderr=log, stdout=log)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz")
                break
            except OSError:
                assert server.poll() is None, open(log.name).read()
                time.sleep(0.2)
        quarters, learned_at = [collections.Counter() for _ in range(4)], 0
        for at, (step, label, harmful) in enumerate(stream):
            Judge.deny = harmful != (DICE.random() < options.wrong)
            request = urllib.request.Request(f"http://127.0.0.1:{port}/", json.dumps(step).encode(), {"content-type": "application/json"})
            before = Judge.asked
            answer = json.loads(urllib.request.urlopen(request).read())
            count = quarters[at * 4 // len(stream)]
            if label is None:
                count["unlabelled"] += 1
            elif "result" not in answer:
                count["refused"] += 1
            else:
                told = answer["result"]
                data = told.get("data") or {}
                source, allowed = data.get("source", "?"), told.get("decision") == "allow"
                count["steps"] += 1
                count["asked"] += Judge.asked > before
                count[source] += 1
                count["attacks"] += label
                count["attacks_let_through"] += label and allowed and source == "local"
                count["honest_denied_unasked"] += (not label) and not allowed and source in ("rules", "local")
            if options.rounds and (at + 1) * options.rounds // len(stream) > learned_at:
                learned_at += 1
                done = subprocess.run([options.guardian, "learn", "--config", config] + (["--floor", options.floor] if options.floor else []), capture_output=True, text=True)
                print(f"{at + 1}: {done.stdout.strip()} {done.stderr.strip()[-300:] if done.returncode not in (0, 3) else ''}", file=sys.stderr)
                time.sleep(2.5)
        for at, count in enumerate(quarters):
            print(f"quarter {at + 1}: asked {100 * count['asked'] / max(count['steps'], 1):.0f} % of {count['steps']}; {dict(count)}")
        for command in ("status", "history"):
            print(subprocess.run([options.guardian, "learn", command, "--config", config], capture_output=True, text=True).stdout)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


main()
