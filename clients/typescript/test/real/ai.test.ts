import assert from "node:assert/strict";
import { test } from "node:test";

import { Guardian } from "aos-guardian";
import { guardModel, guardTools } from "aos-guardian/ai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import type { ToolSet } from "ai";
import * as mocks from "ai/test";
import { z } from "zod";

import { KEY, ORDER, Played, QUESTION, guardian, tell } from "./story.js";
import type { Script } from "./story.js";

type Json = Record<string, any>;
// Version 6 of the SDK has models of specification v3, version 7 those of v4.
const Mock = ((mocks as Json).MockLanguageModelV4 ?? (mocks as Json).MockLanguageModelV3) as new (options: Json) => any;
const USAGE = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

function scripted(script: Script, played = new Played()): any {
  return new Mock({
    doGenerate: ({ prompt }: { prompt: Json[] }) => {
      const step = played.asked++;
      played.results = prompt
        .flatMap((message) => (message.role === "tool" ? message.content : []))
        .map((part: Json) => JSON.stringify(part.output));
      const turn = script[step] ?? "";
      const calls = typeof turn === "string" ? [] : turn;
      const content: Json[] = calls.map(([name, given], index) => ({
        type: "tool-call",
        toolCallId: `call-${step}-${index}`,
        toolName: name,
        input: JSON.stringify(given),
      }));
      if (typeof turn === "string") content.push({ type: "text", text: turn });
      const reason = typeof turn === "string" ? "stop" : "tool-calls";
      return Promise.resolve({ content, finishReason: { unified: reason, raw: reason }, usage: USAGE, warnings: [] });
    },
    doStream: () => {
      const text = String(script[played.asked++]);
      const deltas = [...text].map((delta) => ({ type: "text-delta", id: "1", delta }));
      const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE };
      const chunks = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "1" },
        ...deltas,
        { type: "text-end", id: "1" },
        finish,
      ];
      return Promise.resolve({ stream: mocks.simulateReadableStream({ chunks }) });
    },
  });
}

function toolsOf(played: Played): ToolSet {
  return Object.fromEntries(
    Object.entries(played.tools).map(([name, { argument }]) => [
      name,
      tool({
        description: "A tool.",
        inputSchema: z.object({ [argument]: z.string() }),
        execute: (given) => Promise.resolve(played.run(name, given as Record<string, string>)),
      }),
    ]),
  );
}

tell({
  name: "Vercel AI SDK",
  editsAnswer: true,
  play: async (guardian, script, question) => {
    const played = new Played();
    try {
      const result = await generateText({
        model: guardModel(scripted(script, played), guardian),
        tools: guardTools(toolsOf(played), guardian),
        prompt: question,
        stopWhen: stepCountIs(5),
      });
      played.answer = result.text;
    } catch (error) {
      played.error = error;
    }
    return played;
  },
});

async function streamed(asked: Guardian, stream: "hold" | "pass"): Promise<string[]> {
  const model = guardModel(scripted([`Here you are: ${KEY}`]), asked, { stream });
  const texts: string[] = [];
  for await (const text of streamText({ model, prompt: QUESTION }).textStream) texts.push(text);
  return texts;
}

test("Vercel AI SDK: streamed text is held until it was judged, or passes where that is wanted", async () => {
  assert.deepEqual(await streamed(guardian(), "hold"), ["Here you are: ************"]);
  assert.equal((await streamed(guardian(), "pass")).join(""), `Here you are: ${KEY}`);
});

test("Vercel AI SDK: a tool that gives its result in parts is judged by the last", async () => {
  const played = new Played();
  async function* look(): AsyncGenerator<string> {
    yield "looking";
    yield ORDER;
  }
  const tools = { look: tool({ description: "Looks.", inputSchema: z.object({}), execute: look }) };
  const model = scripted([[["look", {}]], "Done."], played);
  const result = await generateText({
    model,
    tools: guardTools(tools as ToolSet, guardian()),
    prompt: QUESTION,
    stopWhen: stepCountIs(3),
  });
  assert.equal(result.text, "Done.");
  assert.match(played.results[0] ?? "", /\[guardian\] /);
  assert.ok(!played.results.join().includes(ORDER));
});
