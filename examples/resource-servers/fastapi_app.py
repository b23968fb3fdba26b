# An API in FastAPI that accepts this service's access tokens, using Authlib's client for introspection.
#   pip install fastapi uvicorn authlib httpx
#   ISSUER=https://id.example CLIENT_ID=rs_… CLIENT_SECRET=… uvicorn fastapi_app:app
import os
from typing import Annotated

import httpx
from authlib.integrations.httpx_client import AsyncOAuth2Client
from fastapi import Depends, FastAPI, Header, HTTPException

ISSUER = os.environ["ISSUER"].rstrip("/")
service = AsyncOAuth2Client(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    token_endpoint_auth_method="client_secret_basic",
    timeout=2,
)


def challenge(error: str, scope: str) -> dict[str, str]:
    metadata = f"{ISSUER}/.well-known/oauth-protected-resource"
    value = f'Bearer error="{error}", scope="{scope}", resource_metadata="{metadata}"'
    return {"WWW-Authenticate": value}


def needs(scope: str):
    async def check(authorization: Annotated[str | None, Header()] = None) -> dict:
        scheme, _, token = (authorization or "").partition(" ")
        refused = HTTPException(401, "invalid_token", challenge("invalid_token", scope))
        if scheme.lower() != "bearer" or not token.strip():
            raise refused
        try:
            answer = await service.introspect_token(
                f"{ISSUER}/api/oauth/introspect",
                token=token.strip(),
                token_type_hint="access_token",
            )
            answer.raise_for_status()
        except httpx.HTTPError as failure:
            # The token could not be checked, so send no challenge.
            raise HTTPException(503, "temporarily_unavailable", {"Retry-After": "1"}) from failure
        told = answer.json()
        # A refresh token can be active too, but has no token_type.
        if not told["active"] or told.get("token_type") != "Bearer" or told.get("aud") != ISSUER:
            raise refused
        if scope not in told.get("scope", "").split():
            raise HTTPException(403, "insufficient_scope", challenge("insufficient_scope", scope))
        return told

    return check


app = FastAPI()


@app.get("/orders")
async def orders(token: Annotated[dict, Depends(needs("account:read"))]) -> dict:
    return {"hello": token["sub"], "site": token.get("org_id"), "roles": token.get("roles")}
