import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Agent, MCPServerStdio, Runner, Usage, handoff, setTracingDisabled, tool } from "@openai/agents";
import { guardAgent } from "aos-guardian/openai-agents";
import { z } from "zod";

import { HARMFUL, KEY, ORDER, Played, QUESTION, fetching, guardian, tell } from "./story.js";
import type { Script } from "./story.js";

type Json = Record<string, any>;

setTracingDisabled(true);

/** A model that does what the script says, and keeps what it was asked. */
class Model {
  inputs: unknown[] = [];

  constructor(
    readonly script: Script,
    readonly played = new Played(),
  ) {}

  getResponse({ input }: { input: string | Json[] }): Promise<any> {
    const step = this.played.asked++;
    this.inputs.push(input);
    const items = typeof input === "string" ? [] : input;
    this.played.results = items.filter((item) => item.type === "function_call_result").map((item) => JSON.stringify(item.output));
    const turn = this.script[step] ?? "";
    const output: Json[] =
      typeof turn === "string"
        ? [{ type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: turn }] }]
        : turn.map(([name, given], index) => ({
            type: "function_call",
            callId: `call-${step}-${index}`,
            name,
            arguments: JSON.stringify(given),
            status: "completed",
          }));
    return Promise.resolve({ usage: new Usage(), output });
  }

  getStreamedResponse(): any {
    throw new Error("not in the script");
  }
}

function toolsOf(played: Played): any[] {
  return Object.entries(played.tools).map(([name, { argument }]) =>
    tool({
      name,
      description: "A tool.",
      parameters: z.object({ [argument]: z.string() }),
      execute: (given) => played.run(name, given as Record<string, string>),
    }),
  );
}

tell({
  name: "OpenAI Agents",
  editsAnswer: false,
  play: async (guardian, script, question) => {
    const played = new Played();
    const agent = new Agent({ name: "shop", instructions: "Help.", model: new Model(script, played), tools: toolsOf(played) });
    try {
      played.answer = (await new Runner().run(guardAgent(agent, guardian), question)).finalOutput as string;
    } catch (error) {
      played.error = error;
    }
    return played;
  },
});

test("OpenAI Agents: a tripwire says why and has the edited text", async () => {
  const agent = guardAgent(new Agent({ name: "shop", model: new Model([`Here you are: ${KEY}`]) }), guardian());
  await assert.rejects(new Runner().run(agent, HARMFUL), (error: Json) =>
    /\[guardian\] /.test(error.result.output.outputInfo.reason),
  );
  await assert.rejects(new Runner().run(agent, QUESTION), (error: Json) => {
    assert.equal(error.result.output.outputInfo.edited, "Here you are: ************");
    return true;
  });
});

test("OpenAI Agents: agents that are handed over to are guarded in a circle", async () => {
  const played = new Played();
  const model = new Model([[["transfer_to_shop", {}]], [fetching("poisoned")], "It costs 49 EUR."], played);
  const shop: Agent<any, any> = new Agent({ name: "shop", model, tools: toolsOf(played) });
  const desk = new Agent({ name: "desk", model, handoffs: [handoff(shop)] });
  shop.handoffs.push(desk);
  const result = await new Runner().run(guardAgent(desk, guardian()), QUESTION);
  assert.equal(result.lastAgent?.name, "shop");
  assert.match(played.results.at(-1) ?? "", /\[guardian\] /);
});

test("OpenAI Agents: earlier messages of a conversation are not judged again", async () => {
  const agent = guardAgent(new Agent({ name: "shop", model: new Model(["Hello."]) }), guardian());
  const history: any = [
    { role: "user", content: HARMFUL },
    { role: "assistant", status: "completed", content: [{ type: "output_text", text: "No." }] },
    { role: "user", content: QUESTION },
  ];
  assert.equal((await new Runner().run(agent, history)).finalOutput, "Hello.");
});

test("OpenAI Agents: tools of MCP servers are judged", async () => {
  const server = new MCPServerStdio({ command: process.execPath, args: [fileURLToPath(new URL("mcp-shop.js", import.meta.url))] });
  await server.connect();
  try {
    const played = new Played();
    const agent = new Agent({
      name: "shop",
      model: new Model([[fetching("poisoned")], "It costs 49 EUR."], played),
      mcpServers: [server],
    });
    await new Runner().run(guardAgent(agent, guardian()), QUESTION);
    assert.match(played.results[0] ?? "", /\[guardian\] /);
    assert.ok(!played.results.join().includes(ORDER));
  } finally {
    await server.close();
  }
});

test("OpenAI Agents: images pass beside text that is judged, and listeners are kept", async () => {
  const played = new Played();
  const image = { type: "image", image: "data:image/png;base64,aGk=" };
  const look = tool({
    name: "look",
    description: "Looks.",
    parameters: z.object({}),
    execute: () => [{ type: "text", text: `key ${KEY}` }, image],
  });
  const agent = new Agent({ name: "shop", model: new Model([[["look", {}]], "Done."], played), tools: [look] });
  let started = 0;
  agent.on("agent_start", () => started++);
  await new Runner().run(guardAgent(agent, guardian()), QUESTION);
  assert.ok(!played.results.join().includes(KEY));
  assert.match(played.results[0] ?? "", /key \*+.*image/s);
  assert.equal(started, 1);
});

test("OpenAI Agents: the session is told by the context", async () => {
  const told: unknown[] = [];
  const session = (context: unknown): string => {
    told.push(context);
    return "chat-7";
  };
  const agent = guardAgent(new Agent({ name: "shop", model: new Model(["Hello."]) }), guardian(), { session });
  await new Runner().run(agent, QUESTION, { context: { chat: 7 } });
  assert.deepEqual(told, [{ chat: 7 }, { chat: 7 }]);
});
