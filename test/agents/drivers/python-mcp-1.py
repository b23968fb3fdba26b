"""Calls one tool with the first line of the `mcp` package: ADDRESS TOOL [CLIENT_ID]."""

import asyncio
import sys

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from python_application import Callback, Keepsake, metadata, open_browser


async def main(address: str, tool: str, client_id: str | None = None) -> None:
    callback = Callback()

    async def wait_for_code():
        arrived = await callback.wait()
        return arrived["code"], arrived.get("state")

    auth = OAuthClientProvider(
        server_url=address,
        client_metadata=metadata(callback.uri),
        storage=Keepsake(client_id, callback.uri),
        redirect_handler=open_browser,
        callback_handler=wait_for_code,
    )
    async with (
        httpx.AsyncClient(auth=auth, timeout=60) as http,
        streamable_http_client(address, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        await session.list_tools()
        print((await session.call_tool(tool, {})).model_dump_json())


asyncio.run(main(*sys.argv[1:]))
