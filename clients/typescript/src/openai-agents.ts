/**
 * OpenAI Agents SDK: `guardAgent(agent, guardian)` is a copy of the agent whose steps are judged.
 *
 * docs/clients.md says what it cannot stop: hosted tools, local shell, computer and patch tools, and streamed text.
 */

import { Agent, Handoff, getCurrentTrace } from "@openai/agents";
import type { FunctionTool, RunContext, Tool } from "@openai/agents";

import type { Guardian } from "./index.js";
import { withoutMedia } from "./steps.js";
import { Denied, NOT_EDITABLE, record } from "./verdict.js";

// An agent of any context and output.
type AnyAgent = Agent<any, any>;
type AnyHandoff = Handoff<any, any>;
type Outcome = { tripwireTriggered: boolean; outputInfo: { reason: string; edited?: unknown } | null };

export interface AgentOptions {
  /** The session's id, from the context that the run was given. Without it, it is the trace's group or id; else the guardian's. */
  readonly session?: (context: unknown) => string;
}

/**
 * A copy of an agent, and of the agents that it hands over to.
 *
 * A denied call becomes a text that the model reads in place of the result. A denied or edited question ends the run with
 * `InputGuardrailTripwireTriggered`, an answer with `OutputGuardrailTripwireTriggered`; `result.output.outputInfo` has the `reason`, and
 * the `edited` text.
 */
export function guardAgent<A extends AnyAgent>(agent: A, guardian: Guardian, options: AgentOptions = {}): A {
  return new Guards(guardian, options).agent(agent);
}

class Guards {
  readonly #done = new Map<AnyAgent, AnyAgent>();

  constructor(
    readonly guardian: Guardian,
    readonly options: AgentOptions,
  ) {}

  agent<A extends AnyAgent>(agent: A): A {
    const done = this.#done.get(agent);
    if (done) return done as A;
    const guarded = Object.assign(Object.create(Object.getPrototypeOf(agent) as object) as A, agent);
    this.#done.set(agent, guarded);
    guarded.tools = agent.tools.map((tool) => this.tool(tool, agent));
    guarded.getMcpTools = async (...given: Parameters<AnyAgent["getMcpTools"]>) =>
      (await agent.getMcpTools(...given)).map((tool) => this.tool(tool, agent));
    guarded.handoffs = agent.handoffs.map((handoff) => (handoff instanceof Handoff ? this.handoff(handoff) : this.agent(handoff)));
    guarded.inputGuardrails = [
      ...agent.inputGuardrails,
      {
        name: "guardian",
        runInParallel: false,
        execute: ({ input, context }) => {
          const words = typeof input === "string" ? input : lastWords(input);
          return words === "" ? Promise.resolve(PASSED) : outcome(words, (text) => this.of(context, agent).guardUser(text));
        },
      },
    ];
    guarded.outputGuardrails = [
      ...agent.outputGuardrails,
      {
        name: "guardian",
        execute: ({ agentOutput, context }) => outcome(agentOutput, (output) => this.of(context, agent).guardAnswer(output)),
      },
    ];
    return guarded;
  }

  handoff(handoff: AnyHandoff): AnyHandoff {
    const guarded = Object.assign(Object.create(Object.getPrototypeOf(handoff) as object) as AnyHandoff, handoff);
    guarded.onInvokeHandoff = async (context, args) => this.agent(await handoff.onInvokeHandoff(context, args));
    return guarded;
  }

  tool(tool: Tool<unknown>, agent: AnyAgent): Tool<unknown> {
    if (tool.type !== "function") {
      console.warn(`aos-guardian: the tool \`${tool.name}\` of \`${agent.name}\` runs where the guardian does not see it`);
      return tool;
    }
    const invoke: FunctionTool["invoke"] = async (context, input, details) => {
      const guardian = this.of(context, agent);
      const callId = details?.toolCall?.callId ?? crypto.randomUUID();
      try {
        const given = await guardian.guardToolCall(tool.name, parsed(input), callId);
        const output = await tool.invoke(context, typeof given === "string" ? given : JSON.stringify(given), details);
        const [readable, whole] = withoutMedia(output, isImage);
        return whole(await guardian.guardToolResult(callId, readable));
      } catch (error) {
        if (error instanceof Denied) return error.message;
        throw error;
      }
    };
    return { ...tool, invoke };
  }

  of(context: RunContext<unknown>, agent: AnyAgent): Guardian {
    const trace = getCurrentTrace();
    const traced = trace && trace.traceId !== "no-op" ? trace.traceId : undefined;
    const session = this.options.session?.(context.context) ?? trace?.groupId ?? traced ?? this.guardian.session;
    const instructions = typeof agent.instructions === "string" ? { instructions: agent.instructions } : {};
    return this.guardian.inSession(session, {
      ...(traced ? { turn: traced } : {}),
      agent: { id: agent.name, name: agent.name, ...instructions },
    });
  }
}

const PASSED: Outcome = { tripwireTriggered: false, outputInfo: null };

async function outcome<T>(value: T, guard: (value: T) => Promise<T>): Promise<Outcome> {
  try {
    const edited = await guard(value);
    return edited === value
      ? PASSED
      : { tripwireTriggered: true, outputInfo: { reason: new Denied(NOT_EDITABLE).message, edited } };
  } catch (error) {
    if (error instanceof Denied) return { tripwireTriggered: true, outputInfo: { reason: error.message } };
    throw error;
  }
}

function isImage(output: unknown): boolean {
  return record(output).type === "image";
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input || "{}") as unknown;
  } catch {
    return input;
  }
}

/** The user's words since anything else was said: what stands before was judged when it was new. */
function lastWords(items: readonly object[]): string {
  const words: string[] = [];
  for (const item of [...items].reverse()) {
    const { role, content } = record(item);
    if (role !== "user") break;
    const parts = Array.isArray(content) ? content.map(record) : [{ text: content }];
    words.unshift(...parts.flatMap((part) => (typeof part.text === "string" ? [part.text] : [])));
  }
  return words.join("\n");
}
