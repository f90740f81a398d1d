/**
 * A client of aos-guardian: every step of an agent is judged before it happens.
 *
 * One object is one session of one agent; `inSession` makes one for another session. Adapters for agent frameworks are modules of
 * their own: `aos-guardian/openai-agents`, `aos-guardian/ai`, `aos-guardian/mcp`.
 */

import * as steps from "./steps.js";
import type { Step } from "./steps.js";
import { Unreadable, ask } from "./transport.js";
import type { Transport } from "./transport.js";
import { Denied, Unavailable, ownVerdict, readVerdict } from "./verdict.js";
import type { Verdict } from "./verdict.js";

export { Denied, GuardianError, NOT_EDITABLE, Refused, Unavailable } from "./verdict.js";
export type { Decision, Verdict } from "./verdict.js";

/** A name, or an AOS Agent object. */
export type AgentInfo = string | { readonly id?: string; readonly name?: string; readonly [key: string]: unknown };

export interface GuardianOptions {
  /** The server's address: GUARDIAN_URL, else the server on this machine. */
  readonly url?: string;
  /** GUARDIAN_KEY, else none is sent. */
  readonly apiKey?: string;
  readonly agent?: AgentInfo;
  readonly session?: string;
  readonly user?: string;
  /** For one verdict with its retries; should be longer than the server's own (10 seconds by default). */
  readonly timeoutMs?: number;
  /** The posture where there is no answer. */
  readonly onFailure?: "deny" | "allow" | "throw";
  /** Of refused connections, 429 and 503. */
  readonly retries?: number;
  /** The log, which is told that a posture was used; `console.warn` unless given. */
  readonly warn?: (text: string) => void;
}

export interface SessionOptions {
  readonly turn?: string;
  readonly user?: string;
  /** Used where no agent was given before. */
  readonly agent?: AgentInfo;
}

/** Each `guard…` resolves to the value, edited where the guardian wants it so, or rejects with `Denied`. */
export class Guardian {
  readonly session: string;
  readonly #transport: Transport;
  readonly #options: GuardianOptions & SessionOptions;

  constructor(options: GuardianOptions = {}) {
    const environment = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
    const url = options.url ?? environment.GUARDIAN_URL ?? "http://127.0.0.1:8787";
    if (!/^https?:$/.test(new URL(url).protocol)) throw new TypeError(`expected an http:// or https:// address, found \`${url}\``);
    const onFailure = options.onFailure ?? "deny";
    if (!["deny", "allow", "throw"].includes(onFailure)) {
      throw new TypeError(`expected onFailure "deny", "allow" or "throw", found \`${onFailure}\``);
    }
    this.#options = options;
    this.#transport = {
      url,
      apiKey: options.apiKey ?? environment.GUARDIAN_KEY,
      timeoutMs: options.timeoutMs ?? 15_000,
      retries: options.retries ?? 2,
    };
    this.session = options.session ?? crypto.randomUUID();
  }

  /** The same client for another session (without a name, for a new one). */
  inSession(session?: string, options: SessionOptions = {}): Guardian {
    const { turn, user, agent } = options;
    return new Guardian({
      ...this.#options,
      ...{ session: session ?? crypto.randomUUID(), user: user ?? this.#options.user, agent: this.#options.agent ?? agent, turn },
    } as GuardianOptions);
  }

  /** The verdict about any AOS step; a `context` is filled in unless `params` has one. */
  async judge(method: string, params: Record<string, unknown>): Promise<Verdict> {
    try {
      return readVerdict(await this.#ask(method, params));
    } catch (error) {
      return this.#withoutAnswer(method, error);
    }
  }

  async ping(): Promise<Record<string, unknown>> {
    return (await this.#ask("ping", {})) as Record<string, unknown>;
  }

  /** The user's words, before the agent reads them. */
  guardUser<T>(content: T): Promise<T> {
    return this.#guard(() => steps.user(content));
  }

  /** The arguments of a call, before the tool runs. */
  guardToolCall<T>(tool: string, args: T, callId: string, reasoning?: string): Promise<T> {
    return this.#guard(() => steps.toolCall(tool, args, callId, reasoning));
  }

  /** A tool's answer, before the model reads it. `callId` is that of its call. */
  guardToolResult<T>(callId: string, output: T, isError = false): Promise<T> {
    return this.#guard(() => steps.toolResult(callId, output, isError));
  }

  /** The agent's answer, before the user sees it. */
  guardAnswer<T>(content: T, reasoning?: string): Promise<T> {
    return this.#guard(() => steps.answer(content, reasoning));
  }

  /** Texts that the agent is about to remember. */
  guardMemoryStore(memory: readonly string[]): Promise<readonly string[]> {
    return this.#guard(() => steps.memory("steps/memoryStore", memory));
  }

  /** Remembered texts, before the model reads them. */
  guardMemoryRetrieval(memory: readonly string[]): Promise<readonly string[]> {
    return this.#guard(() => steps.memory("steps/memoryContextRetrieval", memory));
  }

  /** Retrieved documents, before the model reads them. */
  guardKnowledge(documents: readonly string[], query?: string, ids?: readonly string[]): Promise<readonly string[]> {
    return this.#guard(() => steps.knowledge(documents, query, ids));
  }

  /** The event that woke the agent in place of a user: a mail, a schedule. */
  guardTrigger<T>(content: T, eventType: string, eventId: string): Promise<T> {
    return this.#guard(() => steps.trigger(content, eventType, eventId));
  }

  /** A JSON-RPC message to or from an MCP server. */
  guardMcp<T extends object>(message: T): Promise<T> {
    return this.#guard(() => steps.mcp(message));
  }

  async #guard<T>(make: () => Step<T>): Promise<T> {
    let step: Step<T>;
    try {
      step = make();
    } catch (error) {
      // A circle, or nested too deeply: what stands in the step causes this.
      throw new Denied(this.#withoutAnswer("the step", new Unreadable(String(error))));
    }
    const verdict = await this.judge(step.method, step.params);
    if (verdict.decision === "allow") return step.value;
    if (verdict.decision === "modify") {
      try {
        return step.edited((verdict.modifiedRequest?.params ?? {}) as Record<string, unknown>) as T;
      } catch {
        this.#warn(`the modified ${step.method} has another form than the one that was sent, so it is denied`);
      }
    }
    throw new Denied(verdict);
  }

  #ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    const { agent = "agent", user, turn = "1" } = this.#options;
    const context = {
      agent: typeof agent === "string" ? { id: agent, name: agent } : agent,
      session: { id: this.session },
      turnId: turn,
      stepId: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      ...(user === undefined ? {} : { user: { id: user } }),
    };
    return ask(this.#transport, { jsonrpc: "2.0", id: crypto.randomUUID(), method, params: { context, ...params } });
  }

  #withoutAnswer(method: string, error: unknown): Verdict {
    if (error instanceof Unreadable) {
      this.#warn(`${method} cannot be judged and is denied: ${error.message}`);
      const message = "The step is too large, or of a form that cannot be judged.";
      return ownVerdict("deny", message, error.message, "unreadable_step");
    }
    const posture = this.#options.onFailure ?? "deny";
    if (!(error instanceof Unavailable) || posture === "throw") throw error;
    this.#warn(`no verdict about ${method}, by onFailure it counts as ${posture}: ${error.message}`);
    return ownVerdict(posture, "The guardian gave no answer.", error.message, "guardian_unavailable");
  }

  #warn(text: string): void {
    (this.#options.warn ?? ((line: string) => console.warn(line)))(`aos-guardian: ${text}`);
  }
}
