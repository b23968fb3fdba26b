"""Calls tools with either major version of the `mcp` package: ADDRESS CALLS [CLIENT_ID]."""

import asyncio
import sys
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from mcp.client import auth
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

from approving import use

try:
    import httpx2 as httpx
    from mcp import Client
except ImportError:  # version 1
    import httpx
    from mcp import ClientSession as Client

IS_FIRST = httpx.__name__ == "httpx"


class Keepsake:
    """Stores the tokens and the client of an application's user."""

    def __init__(self, client_id: str | None, redirect_uri: str):
        self.tokens = None
        self.client = client_id and OAuthClientInformationFull(
            client_id=client_id,
            redirect_uris=[redirect_uri],
            token_endpoint_auth_method="none",
        )

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Callback:
    """Listens at a loopback redirect URI for the code."""

    def __init__(self):
        arrived: list[dict[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                url = urlsplit(self.path)
                if url.path == "/callback":
                    arrived.append({name: value[0] for name, value in parse_qs(url.query).items()})
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"You may close this")

            def log_message(self, *_):
                pass

        self.arrived = arrived
        server = HTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{server.server_port}/callback"
        Thread(target=server.serve_forever, daemon=True).start()

    async def wait(self):
        while not self.arrived:
            await asyncio.sleep(0.05)
        got = self.arrived.pop()
        if IS_FIRST:
            return got["code"], got.get("state")
        return auth.AuthorizationCodeResult(
            code=got["code"], state=got.get("state"), iss=got.get("iss")
        )


async def open_browser(address: str) -> None:
    webbrowser.open(address)


def provider_for(address: str, client_id: str | None) -> auth.OAuthClientProvider:
    callback = Callback()
    return auth.OAuthClientProvider(
        server_url=address,
        client_metadata=OAuthClientMetadata(
            client_name="an application in Python",
            redirect_uris=[callback.uri],
            token_endpoint_auth_method="none",
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        ),
        storage=Keepsake(client_id, callback.uri),
        redirect_handler=open_browser,
        callback_handler=callback.wait,
    )


async def main(address: str, calls: str, client_id: str | None = None) -> None:
    provider = provider_for(address, client_id)
    async with httpx.AsyncClient(auth=provider, timeout=60) as http:
        transport = streamable_http_client(address, http_client=http)
        if IS_FIRST:
            async with transport as (read, write, _), Client(read, write) as client:
                await client.initialize()
                await client.list_tools()
                await use(client, calls)
        else:
            async with Client(transport) as client:
                await client.list_tools()
                await use(client, calls)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
