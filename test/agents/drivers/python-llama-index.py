"""Calls tools with LlamaIndex: ADDRESS CALLS [CLIENT_ID]."""

import asyncio
import sys

from llama_index.tools.mcp import BasicMCPClient

from approving import use
from python_mcp import provider_for


async def main(address: str, calls: str, client_id: str | None = None) -> None:
    client = BasicMCPClient(address, auth=provider_for(address, client_id), timeout=60)
    await client.list_tools()
    await use(client, calls)


asyncio.run(main(*sys.argv[1:]))
