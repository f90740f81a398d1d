"""The weather agent on AgentVault's server SDK."""

import asyncio
import sys
import uuid

import uvicorn
from agentvault.models import Message, TaskState, TextPart
from agentvault_server_sdk import BaseA2AAgent
from agentvault_server_sdk.fastapi_integration import create_a2a_router
from agentvault_server_sdk.state import InMemoryTaskStore
from fastapi import FastAPI
from weather import answer

STORE = InMemoryTaskStore()


class Weather(BaseA2AAgent):
    async def handle_task_send(self, task_id, message):
        task_id = task_id or str(uuid.uuid4())
        await STORE.create_task(task_id)
        asyncio.create_task(self.work(task_id, message.parts[0].content))
        return task_id

    async def work(self, task_id: str, asked: str) -> None:
        for _ in range(100):
            if await STORE.get_listeners(task_id):
                break
            await asyncio.sleep(0.02)
        await STORE.update_task_state(task_id, TaskState.WORKING)
        text = "".join(answer(asked))
        await STORE.notify_message_event(task_id, Message(role="assistant", parts=[TextPart(content=text)]))
        await STORE.update_task_state(task_id, TaskState.COMPLETED)

    async def handle_task_get(self, task_id):
        raise NotImplementedError

    async def handle_task_cancel(self, task_id):
        return True

    async def handle_subscribe_request(self, task_id):
        queue: asyncio.Queue = asyncio.Queue()
        await STORE.add_listener(task_id, queue)
        while True:
            event = await queue.get()
            yield event
            if getattr(event, "state", None) in (TaskState.COMPLETED, TaskState.FAILED):
                return


def main(port: int) -> None:
    app = FastAPI()
    app.include_router(create_a2a_router(Weather(), prefix="/a2a", task_store=STORE))

    @app.get("/agent-card.json")
    def card():
        return {
            "schemaVersion": "1.0",
            "humanReadableId": "shop/weather",
            "agentVersion": "1.0.0",
            "name": "Weather",
            "description": "Tells the weather.",
            "url": f"http://localhost:{port}/a2a",
            "provider": {"name": "Shop"},
            "capabilities": {"a2aVersion": "1.0"},
            "authSchemes": [{"scheme": "none"}],
        }

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


main(int(sys.argv[1]))
