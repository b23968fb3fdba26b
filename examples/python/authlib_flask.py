import os
from urllib.parse import urlencode

from authlib.integrations.flask_client import OAuth
from flask import Flask, redirect, session

ISSUER = os.environ["ISSUER"]

app = Flask(__name__)
app.secret_key = "a secret of this example"

oauth = OAuth(app)
gatehouse = oauth.register(
    "gatehouse",
    server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
    client_id=os.environ["CLIENT_ID"],
    # For a public client, omit the secret and set token_endpoint_auth_method to "none".
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={
        "scope": "openid profile account:read",
        "code_challenge_method": "S256",
        "token_endpoint_auth_method": "client_secret_post",
    },
    authorize_params={"resource": ISSUER},
    access_token_params={"resource": ISSUER},
)

# The tokens of each person; a real application stores them in a table.
tokens = {}


@app.get("/login")
def login():
    # The library adds state, nonce and PKCE.
    return gatehouse.authorize_redirect(os.environ["REDIRECT_URI"])


@app.get("/callback")
def callback():
    # Verifies the id_token with ES256, the algorithm in discovery.
    token = gatehouse.authorize_access_token()
    session["sub"] = token["userinfo"]["sub"]
    tokens[session["sub"]] = token
    return redirect("/")


@app.get("/refresh")
def refresh():
    token = tokens[session["sub"]]
    url = gatehouse.load_server_metadata()["token_endpoint"]
    with gatehouse._get_oauth_client() as client:
        fresh = client.refresh_token(url, refresh_token=token["refresh_token"], resource=ISSUER)
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
    url = gatehouse.load_server_metadata()["end_session_endpoint"]
    return redirect(f"{url}?{urlencode(back)}")


@app.get("/")
def home():
    token = tokens.get(session.get("sub"))
    if token is None:
        return '<a href="/login">Sign in</a>'
    query = {"query": "{ viewer { name } }"}
    return gatehouse.post(f"{ISSUER}/member/graphql", token=token, json=query).json()


app.run(port=int(os.environ["PORT"]))
