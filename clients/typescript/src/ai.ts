/**
 * Vercel AI SDK: `generateText({ model: guardModel(model, guardian), tools: guardTools(tools, guardian), … })`.
 *
 * docs/clients.md says what it cannot stop: tools that a browser or the provider runs, files, reasoning.
 */

import { wrapLanguageModel } from "ai";
import type { LanguageModelMiddleware, ToolSet } from "ai";

import type { Guardian } from "./index.js";
import { Denied, NOT_EDITABLE } from "./verdict.js";

type Model = Parameters<typeof wrapLanguageModel>[0]["model"];
type Prompt = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"]["prompt"];
type StreamPart = { type: string; id?: string; delta?: string };

/**
 * The tools, with each call and each result judged. A denied one fails with the reason, which the model reads as the tool's error.
 */
export function guardTools<T extends ToolSet>(tools: T, guardian: Guardian): T {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const run = tool.execute as ((input: unknown, options: { toolCallId: string }) => unknown) | undefined;
      if (!run) return [name, tool];
      const execute = async (input: unknown, options: { toolCallId: string }): Promise<unknown> => {
        const given = await guardian.guardToolCall(name, input, options.toolCallId);
        let output: unknown;
        try {
          output = await last(run.call(tool, given, options));
        } catch (error) {
          if (error instanceof Denied) throw error;
          throw await judgedError(guardian, options.toolCallId, error);
        }
        return guardian.guardToolResult(options.toolCallId, output);
      };
      return [name, { ...tool, execute }];
    }),
  ) as T;
}

/**
 * The model, with questions and answers judged. A denied or edited question rejects with `Denied`; a denied answer is the reason.
 *
 * Text that is streamed is held until its block is complete and judged; with `stream: "pass"` it is not, and cannot be withheld.
 */
export function guardModel(model: Model, guardian: Guardian, options: { stream?: "hold" | "pass" } = {}): Model {
  const middleware = {
    specificationVersion: (model as { specificationVersion: string }).specificationVersion,
    async transformParams({ params }: { params: { prompt: Prompt } }) {
      const words = lastWords(params.prompt);
      if (words !== "" && (await guardian.guardUser(words)) !== words) throw new Denied(NOT_EDITABLE);
      return params;
    },
    async wrapGenerate({ doGenerate }: { doGenerate: () => PromiseLike<{ content: { type: string; text?: string }[] }> }) {
      const result = await doGenerate();
      const content: unknown[] = [];
      for (const part of result.content) {
        content.push(part.type === "text" ? { ...part, text: await answer(guardian, part.text ?? "") } : part);
      }
      return { ...result, content };
    },
    async wrapStream({ doStream }: { doStream: () => PromiseLike<{ stream: ReadableStream<StreamPart> }> }) {
      const result = await doStream();
      return options.stream === "pass" ? result : { ...result, stream: result.stream.pipeThrough(held(guardian)) };
    },
  };
  return wrapLanguageModel({
    model: model as Parameters<typeof wrapLanguageModel>[0]["model"],
    middleware: middleware as unknown as LanguageModelMiddleware,
  });
}

/** Holds the deltas of a text until its end, and lets it out as one. */
function held(guardian: Guardian): TransformStream<StreamPart, StreamPart> {
  const texts = new Map<string, string>();
  return new TransformStream({
    async transform(part, out) {
      const id = part.id ?? "";
      if (part.type === "text-delta") {
        texts.set(id, (texts.get(id) ?? "") + (part.delta ?? ""));
        return;
      }
      const text = texts.get(id);
      if (part.type === "text-end" && text !== undefined) {
        texts.delete(id);
        out.enqueue({ type: "text-delta", id, delta: await answer(guardian, text) });
      }
      out.enqueue(part);
    },
  });
}

async function answer(guardian: Guardian, text: string): Promise<string> {
  try {
    return await guardian.guardAnswer(text);
  } catch (error) {
    if (error instanceof Denied) return error.message;
    throw error;
  }
}

async function judgedError(guardian: Guardian, callId: string, error: unknown): Promise<unknown> {
  const text = error instanceof Error ? error.message : String(error);
  const judged = await guardian.guardToolResult(callId, text, true);
  return judged === text ? error : new Error(judged);
}

/** The result of a tool, or the last part of one that comes in parts. */
async function last(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let value: unknown;
  for await (const part of output as AsyncIterable<unknown>) value = part;
  return value;
}

/** The user's words since anything else was said: what stands before was judged when it was new. */
function lastWords(prompt: Prompt): string {
  const words: string[] = [];
  for (const message of [...prompt].reverse()) {
    if (message.role !== "user") break;
    words.unshift(...message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])));
  }
  return words.join("\n");
}
