"""The weather agent behind the real server of Agent Protocol's reference implementation (`agentic`), without a model."""

import sys
import uuid

import uvicorn
from agentic.api import AgentAPIServer
from agentic.events import ChatOutput, PromptStarted, StartRequestResponse, TurnEnd, WaitForInput
from weather import answer


class Weather:
    """What the server asks of an agent; the rest of the framework needs a model."""

    name = "Weather"
    safe_name = "weather"
    welcome = "Tells the weather."
    prompts = {}

    def __init__(self):
        self.requests = {}

    def list_tools(self):
        return []

    def start_request(self, request, request_context=None, thread_id=None, continue_result=None, debug=None):
        request_id = uuid.uuid4().hex
        self.requests[request_id] = request
        return StartRequestResponse(request_id=request_id, thread_id=thread_id or uuid.uuid4().hex)

    def events(self, asked):
        yield PromptStarted(self.name, asked)
        if "where" in asked:
            yield WaitForInput(self.name, {"city": "Which city?"})
            return
        for piece in answer(asked):
            yield ChatOutput.assistant_message(self.name, piece)
        yield TurnEnd(self.name, [])

    def get_events(self, request_id, timeout=None):
        yield from self.events(self.requests[request_id])

    def next_turn(self, request, request_context=None, request_id=None):
        yield from self.events(request)

    def get_threads(self, user_id=None):
        return []

    def reset_history(self):
        self.requests.clear()


def main(port: int) -> None:
    server = AgentAPIServer([Weather()], port=port)
    uvicorn.run(server.app, host="127.0.0.1", port=port, log_level="warning")


main(int(sys.argv[1]))
