"""Calls the weather server with the client of the Python SDK of MCP 1.x: at an address, or by a command."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


def connection(words):
    if not words[0].startswith("http"):
        return stdio_client(StdioServerParameters(command=words[0], args=words[1:]))
    return sse_client(words[0]) if words[0].endswith("sse") else streamablehttp_client(words[0])


async def main(words) -> None:
    async with connection(words) as streams, ClientSession(streams[0], streams[1]) as session:
        begun = await session.initialize()
        assert begun.instructions, begun
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert tools == ["forecast", "slow_forecast"], tools
        told = []

        async def progress(done, total, message):
            told.append(done)

        for tool in tools:
            honest = await session.call_tool(tool, {"place": "Oslo"}, progress_callback=progress)
            assert not honest.isError and "9 degrees" in honest.content[0].text, honest
            attack = await session.call_tool(tool, {"place": "inject"})
            assert attack.isError and "[guardian]" in attack.content[0].text, attack
            assert "id_rsa" not in str(attack), attack
        assert told == [1, 2, 3], told
        hidden = await session.call_tool("notes", {})
        assert hidden.isError and "[guardian]" in hidden.content[0].text, hidden
        again = await session.call_tool("forecast", {"place": "Oslo"})
        assert not again.isError, again
        print(f"ok: mcp {begun.protocolVersion}, {words[0]}: {attack.content[0].text}")


asyncio.run(main(sys.argv[1:]))
