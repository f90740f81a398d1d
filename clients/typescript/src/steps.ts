/** Steps of an agent as AOS writes them: how a value becomes a request, and how an edited request becomes a value again. */

import { Denied, NOT_EDITABLE, record } from "./verdict.js";

type Params = Record<string, unknown>;

/** One step: its AOS method, its parameters besides the context, and the value that an allow gives back. */
export interface Step<T> {
  readonly method: string;
  readonly params: Params;
  readonly value: T;
  /** Takes the value out of the parameters as the guardian edited them. */
  readonly edited: (params: Params) => unknown;
}

export function user<T>(content: T): Step<T> {
  return message("user", content, {});
}

export function answer<T>(content: T, reasoning?: string): Step<T> {
  return message("agent", content, because(reasoning));
}

export function toolCall<T>(tool: string, args: T, callId: string, reasoning?: string): Step<T> {
  const named = typeof args === "object" && args !== null && !Array.isArray(args);
  const given: Params = named ? (args as Params) : { input: args };
  const sent = new Map(Object.entries(given).map(([name, value]) => [name, plain(value)]));
  const inputs = [...sent].map(([name, value]) => ({ name, value }));
  const edited = (params: Params): unknown => {
    const values = each(record(params.toolCallRequest).inputs).map((input): [string, unknown] => {
      const name = String(input.name);
      // An argument that was not edited stays the very object that was given.
      const same = sent.has(name) && JSON.stringify(sent.get(name)) === JSON.stringify(input.value);
      return [name, same ? given[name] : input.value];
    });
    return named ? Object.fromEntries(values) : new Map(values).get("input");
  };
  return {
    method: "steps/toolCallRequest",
    params: { toolCallRequest: { executionId: callId, toolId: tool, inputs }, ...because(reasoning) },
    value: args,
    edited,
  };
}

export function toolResult<T>(callId: string, output: T, isError = false): Step<T> {
  return {
    method: "steps/toolCallResult",
    params: { executionId: callId, result: { outputs: parts(output), isError } },
    value: output,
    edited: (params) => content(record(params.result).outputs, output),
  };
}

export function memory(
  method: "steps/memoryStore" | "steps/memoryContextRetrieval",
  texts: readonly string[],
): Step<readonly string[]> {
  return { method, params: { memory: texts }, value: texts, edited: (params) => list(params.memory) };
}

export function knowledge(documents: readonly string[], query?: string, ids?: readonly string[]): Step<readonly string[]> {
  const results = documents.map((text, index) => ({ id: ids?.[index] ?? String(index), content: text }));
  return {
    method: "steps/knowledgeRetrieval",
    params: { knowledgeStep: { results, ...(query === undefined ? {} : { query }) } },
    value: documents,
    edited: (params) => each(record(params.knowledgeStep).results).map((result) => result.content),
  };
}

export function trigger<T>(value: T, eventType: string, eventId: string): Step<T> {
  return {
    method: "steps/agentTrigger",
    params: { trigger: { type: "autonomous", event: { type: eventType, id: eventId }, content: parts(value) } },
    value,
    edited: (params) => content(record(params.trigger).content, value),
  };
}

export function mcp<T extends object>(value: T): Step<T> {
  return { method: "protocols/MCP", params: { message: value }, value, edited: (params) => record(params.message) };
}

/** The JSON that stands for a value: what JSON would leave out (maps, sets, big integers, bytes) by its content. */
export function plain(value: unknown): unknown {
  const text = JSON.stringify(value, function (this: Params, key: string, json: unknown): unknown {
    const raw = this[key];
    if (raw instanceof Map || raw instanceof Set) return [...raw];
    if (raw instanceof Uint8Array) return new TextDecoder().decode(raw);
    if (raw instanceof Error) return String(raw);
    if (typeof raw === "bigint" || typeof raw === "symbol" || (typeof raw === "number" && !Number.isFinite(raw)))
      return String(raw);
    return json;
  });
  return text === undefined ? null : (JSON.parse(text) as unknown);
}

/** The readable part of a value, and a function that puts the judged part back beside images. */
export function withoutMedia(value: unknown, isMedia: (value: unknown) => boolean): [unknown, (judged: unknown) => unknown] {
  if (isMedia(value)) return [[], () => value];
  if (!Array.isArray(value) || !value.some(isMedia)) return [value, (judged) => judged];
  const readable: unknown[] = value.filter((each) => !isMedia(each));
  const whole = (judged: unknown): unknown => {
    const texts = list(judged);
    if (texts.length !== readable.length) throw new Denied(NOT_EDITABLE);
    let next = 0;
    return value.map((each: unknown) => (isMedia(each) ? each : texts[next++]));
  };
  return [readable, whole];
}

function message<T>(role: string, value: T, more: Params): Step<T> {
  return {
    method: "steps/message",
    params: { message: { id: crypto.randomUUID(), role, content: parts(value) }, ...more },
    value,
    edited: (params) => content(record(params.message).content, value),
  };
}

function parts(value: unknown): Params[] {
  if (value === undefined || value === null) return [];
  return [typeof value === "string" ? { kind: "text", text: value } : { kind: "data", data: plain(value) }];
}

function content(given: unknown, sent: unknown): unknown {
  const [part, ...more] = each(given);
  const value = typeof sent === "string" ? part?.text : part?.data;
  if (value === undefined || more.length > 0) throw new TypeError("another form than was sent");
  return value;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError("no list");
  return value;
}

function each(value: unknown): Params[] {
  return list(value).map(record);
}

function because(reasoning: string | undefined): Params {
  return reasoning === undefined ? {} : { reasoning };
}
