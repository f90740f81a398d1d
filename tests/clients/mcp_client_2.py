"""Calls the weather server with the client of the Python SDK of MCP 2.x, which speaks the revision 2026-07-28: at an address, or by a command."""

import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(words) -> None:
    by_command = StdioServerParameters(command=words[0], args=words[1:])
    async with Client(words[0] if words[0].startswith("http") else stdio_client(by_command)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["forecast", "slow_forecast"], tools
        honest = await client.call_tool("forecast", {"place": "Oslo"})
        assert not honest.is_error and "9 degrees" in honest.content[0].text, honest
        attack = await client.call_tool("forecast", {"place": "inject"})
        assert attack.is_error and "[guardian]" in attack.content[0].text, attack
        hidden = await client.call_tool("notes", {})
        assert hidden.is_error and "[guardian]" in hidden.content[0].text, hidden
        print(f"ok: mcp {client.protocol_version}, {words[0]}: {attack.content[0].text}")


asyncio.run(main(sys.argv[1:]))
