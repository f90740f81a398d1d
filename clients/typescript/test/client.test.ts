/** The client against a scripted server on this machine: what it sends, what it makes of each answer, and how long it waits. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { createServer as createListener } from "node:net";
import type { AddressInfo, Server as NetServer } from "node:net";
import { test } from "node:test";

import { Denied, Guardian, Refused, Unavailable } from "aos-guardian";
import type { GuardianOptions } from "aos-guardian";

type Json = Record<string, any>;
type Answer = { status?: number; headers?: Record<string, string>; body: Json | string };

interface Scripted {
  url: string;
  seen: Json[];
  headers: IncomingHttpHeaders[];
}

/** Answers each request with the next of the answers, the last one again and again. */
async function serving<T>(answers: (Answer | ((request: Json) => Answer))[], run: (server: Scripted) => Promise<T>): Promise<T> {
  const left = [...answers];
  const seen: Json[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const http = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const asked = JSON.parse(text) as Json;
      seen.push(asked);
      headers.push(request.headers);
      const next = left.length > 1 ? left.shift() : left[0];
      const { status = 200, headers: more = {}, body } = (typeof next === "function" ? next(asked) : next) as Answer;
      response.writeHead(status, more);
      response.end(typeof body === "string" ? body : JSON.stringify({ jsonrpc: "2.0", id: asked.id, ...body }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  try {
    return await run({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, seen, headers });
  } finally {
    http.closeAllConnections();
    http.close();
  }
}

function decision(decision: string, more: Json = {}): Answer {
  const data = { decisionId: "d-1", source: "rules" };
  return { body: { result: { decision, message: "Because.", reasonCode: ["code"], data, ...more } } };
}

function error(code: number, status = 200, headers: Record<string, string> = {}, data?: Json): Answer {
  return { status, headers, body: { error: { code, message: "why", data } } };
}

/** A modification that masks the word SECRET, wherever it stands. */
function masked(request: Json): Answer {
  return decision("modify", { modifiedRequest: JSON.parse(JSON.stringify(request).replaceAll("SECRET", "***")) as Json });
}

function guardian(options: GuardianOptions): Guardian {
  return new Guardian({ warn: () => undefined, ...options });
}

async function outcome(ask: Promise<unknown>): Promise<string> {
  try {
    return String(await ask);
  } catch (error) {
    if (error instanceof Denied) return error.reasonCodes.join(" ");
    if (error instanceof Refused || error instanceof Unavailable) return error.name;
    throw error;
  }
}

function played(answers: Answer[], options: GuardianOptions = {}): Promise<string> {
  return serving(answers, async ({ url, seen }) => {
    const what = await outcome(guardian({ url, ...options }).guardUser("x"));
    return `${what} after ${seen.length}`;
  });
}

function listening(listener: NetServer): Promise<string> {
  return new Promise((resolve) => {
    listener.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`));
  });
}

test("each step is written as AOS says", () =>
  serving([decision("allow")], async ({ url, seen }) => {
    const asked = guardian({ url, agent: "desk", session: "s-1", user: "u-1" });
    await asked.guardUser("hello");
    await asked.guardToolCall("fetch", { url: "x" }, "c-1", "needed");
    await asked.guardToolResult("c-1", "page", true);
    await asked.guardToolResult("c-2", { a: [1] });
    await asked.guardAnswer("bye");
    await asked.guardMemoryStore(["a"]);
    await asked.guardMemoryRetrieval(["a"]);
    await asked.guardKnowledge(["text"], "q", ["doc"]);
    await asked.guardTrigger("mail", "email", "e-1");
    await asked.guardMcp({ method: "tools/list" });
    const sent = seen.map(({ method, params: { context, ...params } }) => {
      assert.deepEqual(
        [context.agent, context.session, context.user],
        [{ id: "desk", name: "desk" }, { id: "s-1" }, { id: "u-1" }],
      );
      delete params.message?.id;
      return [method, params];
    });
    assert.deepEqual(sent, [
      ["steps/message", { message: { role: "user", content: [{ kind: "text", text: "hello" }] } }],
      [
        "steps/toolCallRequest",
        { toolCallRequest: { executionId: "c-1", toolId: "fetch", inputs: [{ name: "url", value: "x" }] }, reasoning: "needed" },
      ],
      ["steps/toolCallResult", { executionId: "c-1", result: { outputs: [{ kind: "text", text: "page" }], isError: true } }],
      ["steps/toolCallResult", { executionId: "c-2", result: { outputs: [{ kind: "data", data: { a: [1] } }], isError: false } }],
      ["steps/message", { message: { role: "agent", content: [{ kind: "text", text: "bye" }] } }],
      ["steps/memoryStore", { memory: ["a"] }],
      ["steps/memoryContextRetrieval", { memory: ["a"] }],
      ["steps/knowledgeRetrieval", { knowledgeStep: { results: [{ id: "doc", content: "text" }], query: "q" } }],
      [
        "steps/agentTrigger",
        { trigger: { type: "autonomous", event: { type: "email", id: "e-1" }, content: [{ kind: "text", text: "mail" }] } },
      ],
      ["protocols/MCP", { message: { method: "tools/list" } }],
    ]);
    assert.equal(new Set(seen.map(({ params }) => params.context.stepId)).size, 10);
  }));

test("an allowed value is the very object that was given", () =>
  serving([decision("allow")], async ({ url }) => {
    for (const value of [new Map([["a", 1]]), [NaN, 1n], new Date(0), undefined, null]) {
      assert.equal(await guardian({ url }).guardToolResult("c", value), value);
    }
  }));

test("what JSON would leave out is judged by its content", () =>
  serving([decision("allow")], async ({ url, seen }) => {
    await guardian({ url }).guardToolResult("c", [
      new Map([["k", new Set(["s"])]]),
      7n,
      Infinity,
      Buffer.from("bytes"),
      new Error("e"),
    ]);
    assert.deepEqual(seen[0]?.params.result.outputs[0].data, [[["k", ["s"]]], "7", "Infinity", "bytes", "Error: e"]);
  }));

test("an edited step gives back the edited value", () =>
  serving([masked], async ({ url }) => {
    const asked = guardian({ url });
    assert.equal(await asked.guardUser("my SECRET"), "my ***");
    assert.equal(await asked.guardAnswer("my SECRET"), "my ***");
    assert.equal(await asked.guardToolResult("c", "my SECRET"), "my ***");
    assert.deepEqual(await asked.guardToolResult("c", { note: "SECRET" }), { note: "***" });
    assert.deepEqual(await asked.guardMemoryStore(["SECRET", "b"]), ["***", "b"]);
    assert.deepEqual(await asked.guardMemoryRetrieval(["SECRET", "b"]), ["***", "b"]);
    assert.deepEqual(await asked.guardKnowledge(["a", "SECRET"]), ["a", "***"]);
    assert.equal(await asked.guardTrigger("SECRET", "email", "1"), "***");
    assert.deepEqual(await asked.guardMcp({ method: "SECRET" }), { method: "***" });
  }));

test("arguments that were not edited keep their type", () =>
  serving([masked], async ({ url }) => {
    const day = new Date(0);
    const edited = await guardian({ url }).guardToolCall("save", { text: "SECRET", day }, "c");
    assert.equal(edited.text, "***");
    assert.equal(edited.day, day);
    assert.equal(await guardian({ url }).guardToolCall("run", "a SECRET", "c"), "a ***");
  }));

test("a denial carries message, codes and decision", () =>
  serving([decision("deny")], async ({ url }) => {
    await assert.rejects(guardian({ url }).guardUser("x"), (denied: Denied) => {
      assert.deepEqual([denied.verdict.message, denied.reasonCodes, denied.decisionId], ["Because.", ["code"], "d-1"]);
      assert.equal(denied.message, "[guardian] Because. (decision d-1)");
      return true;
    });
  }));

test("what is neither allow nor a usable edit is a denial", async () => {
  const broken = [
    decision("ask"),
    decision("modify"),
    decision("modify", { modifiedRequest: { params: {} } }),
    { body: { result: null } },
  ];
  for (const answer of broken) {
    await serving([answer], ({ url }) => assert.rejects(guardian({ url, onFailure: "allow" }).guardUser("x"), Denied));
  }
});

test("sessions are apart and share the settings", () =>
  serving([decision("allow")], async ({ url, seen }) => {
    const first = guardian({ url, agent: { id: "a", name: "A", instructions: "Help." } });
    await first.inSession("s-2", { turn: "t-2", user: "u-2", agent: "other" }).guardUser("x");
    await first.inSession().guardUser("x");
    const [told, fresh] = seen.map(({ params }) => params.context as Json);
    assert.deepEqual([told?.session.id, told?.turnId, told?.user.id, told?.agent.instructions], ["s-2", "t-2", "u-2", "Help."]);
    assert.ok(![first.session, "s-2"].includes(fresh?.session.id as string));
  }));

test("no answer is settled by the posture", async () => {
  const listener = createListener();
  const url = await listening(listener);
  await new Promise((resolve) => listener.close(resolve));
  for (const [onFailure, expected] of [
    ["deny", "guardian_unavailable"],
    ["allow", "x"],
    ["throw", "Unavailable"],
  ] as const) {
    assert.equal(await outcome(guardian({ url, onFailure, retries: 0 }).guardUser("x")), expected);
  }
});

test("an answer that is none is settled by the posture", async () => {
  const answers: Answer[] = [
    error(-32603),
    error(-32012),
    { status: 502, body: "<html>bad gateway" },
    { body: "no json" },
    { body: { id: "another", result: { decision: "allow" } } },
  ];
  for (const answer of answers) {
    assert.equal(await played([answer]), "guardian_unavailable after 1");
    assert.equal(await played([answer], { onFailure: "allow" }), "x after 1");
  }
});

test("a step that cannot be read is denied whatever the posture", async () => {
  for (const answer of [error(-32700), error(-32600), error(-32602), error(-32600, 413)]) {
    assert.equal(await played([answer], { onFailure: "allow" }), "unreadable_step after 1");
  }
  const circle: unknown[] = [];
  circle.push(circle);
  await serving([decision("allow")], async ({ url }) => {
    assert.equal(await outcome(guardian({ url, onFailure: "allow" }).guardToolResult("c", circle)), "unreadable_step");
  });
});

test("a server that hangs up on a large step has not allowed it", async () => {
  const listener = createListener((socket) => socket.once("data", () => socket.resetAndDestroy()).on("error", () => undefined));
  const url = await listening(listener);
  assert.equal(await outcome(guardian({ url, onFailure: "allow" }).guardUser("x".repeat(30_000_000))), "unreadable_step");
  listener.close();
});

test("a client that is not served is told whatever the posture", async () => {
  const answers = [error(-32002, 401), error(-32003, 403), error(-32600, 404), error(-32601), error(0, 302, { Location: "/x" })];
  for (const answer of answers) assert.equal(await played([answer], { onFailure: "allow" }), "Refused after 1");
});

test("a busy server is asked again after the time that it says", async () => {
  const wait = { "Retry-After": "0" };
  for (const busy of [error(-32010, 429, wait), error(-32011, 503, wait), error(-32011, 200, {}, { retryAfterMs: 1 })]) {
    assert.equal(await played([busy, decision("allow")]), "x after 2");
    assert.equal(await played([busy]), "guardian_unavailable after 3");
  }
  const long = error(-32010, 429, { "Retry-After": "60" });
  assert.equal(await played([long], { timeoutMs: 5000 }), "guardian_unavailable after 1");
});

test("a denial is never asked for again", async () => {
  assert.equal(await played([decision("deny"), decision("allow")]), "code after 1");
});

test("a verdict takes no longer than the time-out, silent or dripping", async () => {
  const silent = createListener();
  const dripping = createListener((socket) => {
    const drip = setInterval(() => socket.write("H"), 50);
    socket.on("error", () => undefined).on("close", () => clearInterval(drip));
  });
  for (const listener of [silent, dripping]) {
    const url = await listening(listener);
    const began = Date.now();
    assert.equal(await outcome(guardian({ url, timeoutMs: 300 }).guardUser("x")), "guardian_unavailable");
    assert.ok(Date.now() - began < 5000);
    listener.close();
  }
});

test("key and address come from the environment", () =>
  serving([decision("allow")], async ({ url, headers }) => {
    Object.assign(process.env, { GUARDIAN_URL: `${url}/aos`, GUARDIAN_KEY: "k-1" });
    await guardian({}).guardUser("x");
    delete process.env.GUARDIAN_URL;
    delete process.env.GUARDIAN_KEY;
    assert.equal(headers[0]?.authorization, "Bearer k-1");
  }));

test("settings that cannot work are refused", () => {
  assert.throws(() => guardian({ url: "ftp://host" }));
  assert.throws(() => guardian({ url: "no address" }));
  assert.throws(() => guardian({ onFailure: "open" as "deny" }));
});
