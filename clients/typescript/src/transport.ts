/** One question to the server over HTTP, within a time. */

import { Refused, Unavailable, record } from "./verdict.js";

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Errors about the step itself: no JSON, no request, wrong parameters. */
const UNREADABLE = [-32700, -32600, -32602];
/** No verdict this time: internal error, undecided. */
const NO_VERDICT = [-32603, -32012];
/** Rate limit, overloaded. */
const BUSY = [-32010, -32011];

/** The server cannot read the step. What stands in it causes this, so the step is denied whatever the posture. */
export class Unreadable extends Error {}

class Retry extends Error {
  constructor(
    why: string,
    readonly afterMs: number,
  ) {
    super(why);
  }
}

export interface Transport {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly timeoutMs: number;
  readonly retries: number;
}

export interface Request {
  readonly jsonrpc: "2.0";
  readonly id: string;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** The `result` of a request. Throws `Unreadable`, `Refused` or `Unavailable`. */
export async function ask(transport: Transport, request: Request): Promise<unknown> {
  const deadline = Date.now() + transport.timeoutMs;
  let body: string;
  try {
    body = JSON.stringify(request);
  } catch (error) {
    throw new Unreadable(`the step cannot be written as JSON: ${String(error)}`);
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(transport, body, request.id, deadline);
    } catch (error) {
      if (!(error instanceof Retry)) throw error;
      if (attempt > transport.retries || Date.now() + error.afterMs >= deadline) throw new Unavailable(error.message);
      await new Promise((resolve) => setTimeout(resolve, error.afterMs));
    }
  }
}

async function once(transport: Transport, body: string, id: string, deadline: number): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(transport.url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(transport.apiKey ? { Authorization: `Bearer ${transport.apiKey}` } : {}),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(Math.max(deadline - Date.now(), 1)),
    });
    text = await bounded(response);
  } catch (error) {
    throw fault(error, transport, body.length);
  }
  return result(response, text, id);
}

async function bounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    chunks.push(read.value);
    bytes += read.value.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      await reader?.cancel();
      throw new Unavailable(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    }
  }
  return new TextDecoder().decode(await new Blob(chunks as BlobPart[]).arrayBuffer());
}

/** The error that an exception of `fetch` means. */
function fault(error: unknown, transport: Transport, sent: number): Error {
  if (error instanceof Unavailable) return error;
  const { name, cause } = error as { name?: string; cause?: { code?: string; errors?: { code?: string }[] } };
  const code = cause?.code ?? cause?.errors?.[0]?.code;
  if (name === "TimeoutError" || name === "AbortError") return new Unavailable(`no answer within ${transport.timeoutMs} ms`);
  if (code === "ECONNREFUSED") return new Retry(`connection refused at ${transport.url}`, 200);
  // A server may hang up on a body that is too large before its 413 can be read.
  if (["EPIPE", "ECONNRESET", "UND_ERR_SOCKET"].includes(code ?? "") && sent > 65536) {
    return new Unreadable(`the server hung up on a request of ${sent} characters`);
  }
  return new Unavailable(`${String(error)}${code ? ` (${code})` : ""}`);
}

function result(response: Response, text: string, id: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  const { status } = response;
  const body = record(parsed);
  const error = record(body.error);
  const code = typeof error.code === "number" ? error.code : undefined;
  const why = `${String(error.message ?? "the answer is no JSON-RPC")} (HTTP ${status})`;
  const is = (codes: number[]): boolean => code !== undefined && codes.includes(code);
  if (status === 429 || status === 503 || is(BUSY)) {
    throw new Retry(why, retryAfterMs(response.headers.get("Retry-After"), record(error.data)));
  }
  if (status === 413 || (status === 200 && is(UNREADABLE))) throw new Unreadable(why);
  if (status >= 500 || status === 408 || is(NO_VERDICT)) throw new Unavailable(why);
  if (status !== 200 || code !== undefined) throw new Refused(why);
  if (body.id !== id || !("result" in body)) {
    throw new Unavailable("the answer belongs to no request of this client: is this a guardian's address?");
  }
  return body.result;
}

/** Milliseconds to wait: the header's, else the error's own, else a second. */
function retryAfterMs(header: string | null, data: Record<string, unknown>): number {
  if (header && /^\d+$/.test(header.trim())) return Number(header) * 1000;
  return typeof data.retryAfterMs === "number" && data.retryAfterMs >= 0 ? data.retryAfterMs : 1000;
}
