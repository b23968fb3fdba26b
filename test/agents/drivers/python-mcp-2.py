"""Calls one tool with the second line of the `mcp` package: ADDRESS TOOL [CLIENT_ID]."""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from python_application import Callback, Keepsake, metadata, open_browser


async def main(address: str, tool: str, client_id: str | None = None) -> None:
    callback = Callback()

    async def wait_for_code():
        arrived = await callback.wait()
        return AuthorizationCodeResult(
            code=arrived["code"], state=arrived.get("state"), iss=arrived.get("iss")
        )

    auth = OAuthClientProvider(
        server_url=address,
        client_metadata=metadata(callback.uri),
        storage=Keepsake(client_id, callback.uri),
        redirect_handler=open_browser,
        callback_handler=wait_for_code,
    )
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        await client.list_tools()
        print((await client.call_tool(tool, {})).model_dump_json())


asyncio.run(main(*sys.argv[1:]))
