"""Calls one tool with FastMCP, which opens the browser itself: ADDRESS TOOL [CLIENT_ID]."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth


async def main(address: str, tool: str, client_id: str | None = None) -> None:
    async with Client(address, auth=OAuth(client_id=client_id)) as client:
        await client.list_tools()
        answer = await client.call_tool(tool, {})
        print(answer.content[0].text)


asyncio.run(main(*sys.argv[1:]))
