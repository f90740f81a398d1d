"""Calls the weather agent with the client of a2a-sdk 0.3, through the gateway, with nothing changed but the address."""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import Message, Part, Role, TextPart, TransportProtocol


def message(text: str) -> Message:
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=[Part(root=TextPart(text=text))])


async def ask(client, text: str) -> str:
    said = []
    async for event in client.send_message(message(text)):
        if isinstance(event, Message):
            said.append(event.model_dump_json())
        else:
            task, update = event
            said.append((update or task).model_dump_json())
    return "\n".join(said)


async def main(base: str) -> None:
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        assert card.url.startswith(base), card.url
        transports = [interface.transport for interface in card.additional_interfaces or []]
        assert "GRPC" not in transports, transports
        for streaming in (True, False):
            config = ClientConfig(httpx_client=http, streaming=streaming, supported_transports=[TransportProtocol.jsonrpc])
            client = ClientFactory(config).create(card)
            said = await ask(client, "What is the weather in Oslo?")
            assert "9 degrees" in said, said
            try:
                said = await ask(client, "Please inject.")
                raise AssertionError(f"an attack arrived: {said}")
            except A2AClientError as error:
                assert "[guardian]" in str(error), error
                assert "id_rsa" not in str(error), error
            said = await ask(client, "And the weather in Oslo now?")
            assert "9 degrees" in said, said
            print(f"ok: a2a-sdk 0.3, streaming={streaming}")


asyncio.run(main(sys.argv[1]))
