"""Calls tools with Pydantic AI: ADDRESS CALLS [CLIENT_ID]."""

import asyncio
import sys
from types import SimpleNamespace

from pydantic_ai.mcp import MCPToolset

from approving import use
from python_mcp import provider_for


async def main(address: str, calls: str, client_id: str | None = None) -> None:
    async with MCPToolset(address, auth=provider_for(address, client_id), init_timeout=60) as tools:
        await tools.list_tools()

        async def call_tool(name: str, values: dict[str, str]):
            said = await tools.direct_call_tool(name, values)
            return SimpleNamespace(content=[SimpleNamespace(text=str(said))])

        await use(SimpleNamespace(call_tool=call_tool), calls)


asyncio.run(main(*sys.argv[1:]))
