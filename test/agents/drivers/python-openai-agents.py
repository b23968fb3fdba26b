"""Calls tools with the OpenAI Agents SDK: ADDRESS CALLS [CLIENT_ID]."""

import asyncio
import sys

from agents.mcp import MCPServerStreamableHttp

from approving import use
from python_mcp import provider_for


async def main(address: str, calls: str, client_id: str | None = None) -> None:
    params = {"url": address, "auth": provider_for(address, client_id), "timeout": 60}
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=60) as server:
        await server.list_tools()
        await use(server, calls)


asyncio.run(main(*sys.argv[1:]))
