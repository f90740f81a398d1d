"""The guardian's answer, and the errors that are not answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Decision = Literal["allow", "deny", "modify"]


@dataclass(frozen=True)
class Verdict:
    """A decision about one step. `source` is `client` where no guardian decided: no answer, or a step that it cannot read."""

    decision: Decision
    message: str
    source: str
    reasoning: str = ""
    reason_codes: tuple[str, ...] = ()
    decision_id: str | None = None
    modified_request: Mapping[str, Any] | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, result: Any) -> Verdict:
        """The verdict in a result of the server; one that says neither allow nor modify is a denial."""
        result = result if isinstance(result, dict) else {}
        data = result.get("data") if isinstance(result.get("data"), dict) else {}
        decision = result.get("decision")
        return cls(
            decision=decision if decision in ("allow", "modify") else "deny",
            message=str(result.get("message") or "The guardian gave no reason."),
            source=str(data.get("source") or "unknown"),
            reasoning=str(result.get("reasoning") or ""),
            reason_codes=tuple(str(code) for code in result.get("reasonCode") or ()),
            decision_id=data.get("decisionId"),
            modified_request=result.get("modifiedRequest"),
            data=data,
        )

    def __str__(self) -> str:
        return f"[guardian] {self.message}" + (f" (decision {self.decision_id})" if self.decision_id else "")


#: The verdict that an edit counts as where it cannot be applied.
NOT_EDITABLE = Verdict("deny", "It would have to be edited, which is not possible here.", "client", reason_codes=("not_editable",))


class GuardianError(Exception):
    """Base of all errors of this package."""


class Denied(GuardianError):
    """The step must not happen. `str(denied)` may be shown to the model and to the user."""

    def __init__(self, verdict: Verdict):
        super().__init__(str(verdict))
        self.verdict = verdict
        self.message = verdict.message
        self.reason_codes = verdict.reason_codes
        self.decision_id = verdict.decision_id


class Refused(GuardianError):
    """The server does not serve this client: a wrong key, a wrong address, an unknown method. No posture opens this."""


class Unavailable(GuardianError):
    """There was no answer in time. Raised with `on_failure="raise"`; else the posture made a verdict of it."""
