import os
import secrets
from urllib.parse import urlencode

import requests
from flask import Flask, redirect, request, session
from joserfc import jwt
from joserfc.jwk import KeySet
from requests_oauthlib import OAuth2Session

ISSUER = os.environ["ISSUER"]
CLIENT_ID = os.environ["CLIENT_ID"]
CLIENT_SECRET = os.environ["CLIENT_SECRET"]

if ISSUER.startswith("http:"):
    # Allow http only for a service on this computer.
    os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

server = requests.get(f"{ISSUER}/.well-known/openid-configuration").json()

app = Flask(__name__)
app.secret_key = "a secret of this example"

# The tokens of each person; a real application stores them in a table.
tokens = {}


def make_session(**settings):
    return OAuth2Session(
        CLIENT_ID,
        redirect_uri=os.environ["REDIRECT_URI"],
        scope="openid profile account:read",
        pkce="S256",
        **settings,
    )


@app.get("/login")
def login():
    client = make_session()
    session["nonce"] = secrets.token_urlsafe()
    url, session["state"] = client.authorization_url(
        server["authorization_endpoint"], nonce=session["nonce"], resource=ISSUER
    )
    session["verifier"] = client._code_verifier
    return redirect(url)


@app.get("/callback")
def callback():
    # Uses HTTP Basic. For a public client, set include_client_id=True and omit the secret.
    client = make_session(state=session["state"])
    # The library keeps the verifier only in its session object, so restore it here.
    client._code_verifier = session["verifier"]
    token = client.fetch_token(
        server["token_endpoint"],
        authorization_response=request.url,
        client_secret=CLIENT_SECRET,
        resource=ISSUER,
    )
    session["sub"] = verify(token["id_token"])["sub"]
    tokens[session["sub"]] = token
    return redirect("/")


def verify(id_token):
    """Verifies the id_token with joserfc, because requests-oauthlib does not support id_tokens."""
    keys = KeySet.import_key_set(requests.get(server["jwks_uri"]).json())
    claims = jwt.decode(id_token, keys, algorithms=["ES256"]).claims
    jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": ISSUER},
        aud={"essential": True, "value": CLIENT_ID},
        nonce={"essential": True, "value": session.pop("nonce")},
        exp={"essential": True},
    ).validate(claims)
    return claims


@app.get("/refresh")
def refresh():
    token = tokens[session["sub"]]
    fresh = make_session(token=token).refresh_token(
        server["token_endpoint"], auth=(CLIENT_ID, CLIENT_SECRET), resource=ISSUER
    )
    # The response has a new refresh token, but no id_token.
    tokens[session["sub"]] = {**token, **fresh}
    return redirect("/")


@app.get("/logout")
def logout():
    token = tokens.pop(session.pop("sub"))
    back = {
        "id_token_hint": token["id_token"],
        "post_logout_redirect_uri": os.environ["SIGNED_OUT_URI"],
    }
    return redirect(f"{server['end_session_endpoint']}?{urlencode(back)}")


@app.get("/")
def home():
    token = tokens.get(session.get("sub"))
    if token is None:
        return '<a href="/login">Sign in</a>'
    query = {"query": "{ viewer { name } }"}
    return make_session(token=token).post(f"{ISSUER}/member/graphql", json=query).json()


app.run(port=int(os.environ["PORT"]))
