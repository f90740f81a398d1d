/** The guardian's answer, and the errors that are not answers. */

export type Decision = "allow" | "deny" | "modify";

/** A decision about one step. `source` is `client` where no guardian decided: no answer, or a step that it cannot read. */
export interface Verdict {
  readonly decision: Decision;
  readonly message: string;
  readonly source: string;
  readonly reasoning: string;
  readonly reasonCodes: readonly string[];
  readonly decisionId?: string;
  readonly modifiedRequest?: { readonly params?: unknown };
  readonly data: Readonly<Record<string, unknown>>;
}

/** Base of all errors of this package. */
export class GuardianError extends Error {
  override name = "GuardianError";
}

/** The step must not happen. Its `message` may be shown to the model and to the user. */
export class Denied extends GuardianError {
  override name = "Denied";
  readonly reasonCodes: readonly string[];
  readonly decisionId: string | undefined;

  constructor(readonly verdict: Verdict) {
    super(`[guardian] ${verdict.message}${verdict.decisionId ? ` (decision ${verdict.decisionId})` : ""}`);
    this.reasonCodes = verdict.reasonCodes;
    this.decisionId = verdict.decisionId;
  }
}

/** The server does not serve this client: a wrong key, a wrong address, an unknown method. No posture opens this. */
export class Refused extends GuardianError {
  override name = "Refused";
}

/** There was no answer in time. Thrown with `onFailure: "throw"`; else the posture made a verdict of it. */
export class Unavailable extends GuardianError {
  override name = "Unavailable";
}

/** The verdict in a result of the server; one that says neither allow nor modify is a denial. */
export function readVerdict(result: unknown): Verdict {
  const given = record(result);
  const data = record(given.data);
  const codes: unknown[] = Array.isArray(given.reasonCode) ? given.reasonCode : [];
  return {
    decision: given.decision === "allow" || given.decision === "modify" ? given.decision : "deny",
    message: typeof given.message === "string" ? given.message : "The guardian gave no reason.",
    source: String(data.source ?? "unknown"),
    reasoning: String(given.reasoning ?? ""),
    reasonCodes: codes.map(String),
    ...(typeof data.decisionId === "string" ? { decisionId: data.decisionId } : {}),
    ...(given.modifiedRequest === undefined ? {} : { modifiedRequest: record(given.modifiedRequest) }),
    data,
  };
}

/** A verdict of this client. */
export function ownVerdict(decision: Decision, message: string, reasoning: string, code: string): Verdict {
  return { decision, message, source: "client", reasoning, reasonCodes: [code], data: {} };
}

/** The verdict that an edit counts as where it cannot be applied. */
export const NOT_EDITABLE = ownVerdict("deny", "It would have to be edited, which is not possible here.", "", "not_editable");

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
