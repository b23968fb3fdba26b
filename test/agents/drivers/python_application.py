"""What an application of the `mcp` package keeps for its user, in both of its lines."""

import asyncio
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata


class Keepsake:
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
    """The loopback address at which the code arrives."""

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

    async def wait(self) -> dict[str, str]:
        while not self.arrived:
            await asyncio.sleep(0.05)
        return self.arrived.pop()


def metadata(redirect_uri: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="an application in Python",
        redirect_uris=[redirect_uri],
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )


async def open_browser(address: str) -> None:
    webbrowser.open(address)
