"""Calls the weather agent with AgentVault's client, through the gateway, with nothing changed but the address of its card."""

import asyncio
import sys

import httpx
from agentvault import AgentVaultClient, KeyManager
from agentvault.exceptions import A2AError
from agentvault.models import AgentCard, Message, TextPart


async def ask(client, card, keys, text: str) -> str:
    message = Message(role="user", parts=[TextPart(content=text)])
    task = await client.initiate_task(agent_card=card, initial_message=message, key_manager=keys)
    said = []
    async for event in client.receive_messages(agent_card=card, task_id=task, key_manager=keys):
        said.append(event.model_dump_json())
    return "\n".join(said)


async def main(card_url: str) -> None:
    card = AgentCard.model_validate(httpx.get(card_url).json())
    keys = KeyManager(use_keyring=False)
    async with AgentVaultClient() as client:
        said = await ask(client, card, keys, "What is the weather in Oslo?")
        assert "9 degrees" in said, said
        try:
            said = await ask(client, card, keys, "Please inject.")
            raise AssertionError(f"no error arrived: {said}")
        except A2AError as error:
            assert "[guardian]" in str(error) and "id_rsa" not in str(error), error
        said = await ask(client, card, keys, "And the weather in Oslo now?")
        assert "9 degrees" in said, said
        print("ok: agentvault client, tasks and events")


asyncio.run(main(sys.argv[1]))
