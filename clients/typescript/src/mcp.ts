/**
 * MCP clients: `guardClient(client, guardian)` judges what a `Client` sends and gets.
 *
 * docs/clients.md says what it cannot stop: requests of the server (sampling, elicitation), notifications, images.
 */

import type { Guardian } from "./index.js";
import { Denied, record } from "./verdict.js";

type Json = Record<string, unknown>;
type Call = (params: Json, ...more: unknown[]) => Promise<Json>;

const METHODS = {
  callTool: "tools/call",
  listTools: "tools/list",
  readResource: "resources/read",
  getPrompt: "prompts/get",
} as const;

/**
 * The same client, with `callTool`, `listTools`, `readResource` and `getPrompt` judged in both directions.
 *
 * A denied call is an error result, a tool with a denied description is left out of the list; a denied resource or prompt rejects
 * with `Denied`. Clients of several servers of one agent should share one guardian.
 */
export function guardClient<C extends { [M in keyof typeof METHODS]: unknown }>(client: C, guardian: Guardian): C {
  for (const [name, method] of Object.entries(METHODS)) {
    const call = (client[name as keyof C] as Call).bind(client);
    Object.assign(client, { [name]: (params: Json = {}, ...more: unknown[]) => exchange(guardian, method, call, params, more) });
  }
  return client;
}

async function exchange(guardian: Guardian, method: string, call: Call, params: Json, more: unknown[]): Promise<Json> {
  const id = crypto.randomUUID();
  try {
    const request = await guardian.guardMcp({ jsonrpc: "2.0", id, method, params });
    const result = await call(request.params, ...more);
    return await judged(guardian, method, id, result);
  } catch (error) {
    if (!(error instanceof Denied) || method !== "tools/call") throw error;
    return { content: [{ type: "text", text: error.message }], isError: true };
  }
}

async function judged(guardian: Guardian, method: string, id: string, result: Json): Promise<Json> {
  const sent = { jsonrpc: "2.0", id, result: withoutMedia(result) };
  try {
    const edited = await guardian.guardMcp(sent);
    return edited === sent ? result : withMedia(edited.result, result);
  } catch (error) {
    const tools = blocks(result.tools);
    if (!(error instanceof Denied) || method !== "tools/list" || tools.length === 0) throw error;
    return { ...result, tools: tools.length === 1 ? [] : await passing(guardian, result, tools) };
  }
}

/** The tools whose description is not denied, each judged as a list of its own. */
async function passing(guardian: Guardian, result: Json, tools: Json[]): Promise<unknown[]> {
  const kept: unknown[] = [];
  for (const tool of tools) {
    const listed = await exchange(guardian, METHODS.listTools, () => Promise.resolve({ ...result, tools: [tool] }), {}, []);
    kept.push(...blocks(listed.tools));
  }
  return kept;
}

function withoutMedia(result: Json): Json {
  if (!Array.isArray(result.content)) return result;
  return { ...result, content: blocks(result.content).map((block) => (isMedia(block) ? { ...block, data: "" } : block)) };
}

function withMedia(edited: Json, original: Json): Json {
  if (!Array.isArray(edited.content)) return edited;
  const before = blocks(original.content);
  const content = blocks(edited.content).map((block, index) => (isMedia(block) ? { ...block, data: before[index]?.data } : block));
  return { ...edited, content };
}

function isMedia(block: Json): boolean {
  return block.type === "image" || block.type === "audio";
}

function blocks(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(record) : [];
}
