"""Calls tools with LangChain's MCP adapters: ADDRESS CALLS [CLIENT_ID]."""

import asyncio
import sys
from types import SimpleNamespace

from langchain_mcp_adapters.client import MultiServerMCPClient

from approving import use
from python_mcp import provider_for


class Tools:
    def __init__(self, tools):
        self.tools = {tool.name: tool for tool in tools}

    async def call_tool(self, name: str, values: dict[str, str]):
        said = await self.tools[name].ainvoke(values)
        return SimpleNamespace(content=[SimpleNamespace(text=str(said))])


async def main(address: str, calls: str, client_id: str | None = None) -> None:
    server = {"transport": "streamable_http", "url": address}
    client = MultiServerMCPClient({"gatehouse": {**server, "auth": provider_for(address, client_id)}})
    await use(Tools(await client.get_tools()), calls)


asyncio.run(main(*sys.argv[1:]))
