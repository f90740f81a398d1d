"""A weather agent on a2a-sdk 0.3. What it answers depends on what it is asked: `inject` makes it attack its caller."""

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, TaskState, TextPart
from a2a.utils import new_task
from weather import stream


class Weather(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task or new_task(context.message)
        if not context.current_task:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.update_status(TaskState.working)
        await stream(context.get_user_input(), updater, lambda text: Part(root=TextPart(text=text)))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main(port: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    card = AgentCard(
        name="Weather",
        description="Tells the weather.",
        url=url,
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="weather", name="Weather", description="Tells the weather of a city.", tags=["weather"])],
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(url=url, transport="JSONRPC"),
            AgentInterface(url=f"http://127.0.0.1:{port + 1}", transport="GRPC"),
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Weather(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


main(int(sys.argv[1]))
