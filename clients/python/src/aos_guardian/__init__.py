"""A client of aos-guardian: every step of an agent is judged before it happens.

    guardian = Guardian()
    question = guardian.guard_user(question)
    arguments = guardian.guard_tool_call("fetch", {"url": url}, call_id)
    page = guardian.guard_tool_result(call_id, fetch(**arguments))
    answer = guardian.guard_answer(answer)

Adapters for agent frameworks are modules of their own: `aos_guardian.openai_agents`, `.langchain`, `.pydantic_ai`, `.google_adk`,
`.claude_agent`, `.mcp`.
"""

from .client import AsyncGuardian, Guardian, OnFailure
from .verdict import Decision, Denied, GuardianError, Refused, Unavailable, Verdict

__all__ = [
    "AsyncGuardian",
    "Decision",
    "Denied",
    "Guardian",
    "GuardianError",
    "OnFailure",
    "Refused",
    "Unavailable",
    "Verdict",
]
__version__ = "0.2.0"
