"""Calls the weather agent with the client of a2a-sdk 1.x, through the gateway, over both bindings."""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import GetTaskRequest, ListTasksRequest, Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import MessageToJson


def request(text: str) -> SendMessageRequest:
    message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=text)])
    return SendMessageRequest(message=message)


async def ask(client, text: str):
    said, task = [], None
    async for event in client.send_message(request(text)):
        said.append(MessageToJson(event))
        for name in ("task", "status_update", "artifact_update"):
            if event.HasField(name):
                update = getattr(event, name)
                task = update.id if name == "task" else update.task_id
    return "\n".join(said), task


async def main(base: str) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        bindings = {interface.protocol_binding for interface in card.supported_interfaces}
        assert "GRPC" not in bindings, bindings
        assert all(interface.url.startswith(base) for interface in card.supported_interfaces), card
        for binding in sorted(bindings):
            for streaming in (True, False):
                config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
                client = ClientFactory(config).create(card)
                said, task = await ask(client, "What is the weather in Oslo?")
                assert "9 degrees" in said, said
                view = MessageToJson(await client.get_task(GetTaskRequest(id=task)))
                assert "9 degrees" in view, view
                denied = None
                try:
                    said, denied = await ask(client, "Please inject.")
                    reason = said
                except Exception as error:  # the client has no one class for errors of agents
                    reason = str(error)
                assert "[guardian]" in reason or binding == "HTTP+JSON", reason
                assert "id_rsa" not in reason, reason
                if denied:
                    view = MessageToJson(await client.get_task(GetTaskRequest(id=denied)))
                    assert "TASK_STATE_FAILED" in view and "[guardian]" in view and "id_rsa" not in view, view
                tasks = MessageToJson(await client.list_tasks(ListTasksRequest(include_artifacts=True)))
                assert "id_rsa" not in tasks, tasks
                said, _ = await ask(client, "And the weather in Oslo now?")
                assert "9 degrees" in said, said
                print(f"ok: a2a-sdk 1.x, {binding}, streaming={streaming}: {reason.strip().splitlines()[0][:90]}")


asyncio.run(main(sys.argv[1]))
