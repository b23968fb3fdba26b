"""Calls tools with FastMCP, which opens the browser itself: ADDRESS CALLS [CLIENT_ID]."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth

from approving import use


async def main(address: str, calls: str, client_id: str | None = None) -> None:
    async with Client(address, auth=OAuth(client_id=client_id)) as client:
        await client.list_tools()
        await use(client, calls)


asyncio.run(main(*sys.argv[1:]))
