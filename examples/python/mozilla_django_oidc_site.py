"""A whole Django site in one file: settings, one class, four views."""

import os
import tempfile
from urllib.parse import urlencode

import django
import requests
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import include, path

ISSUER = os.environ["ISSUER"]
server = requests.get(f"{ISSUER}/.well-known/openid-configuration").json()

settings.configure(
    SECRET_KEY="a secret of this example",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.path.join(tempfile.mkdtemp(), "database"),
        }
    },
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "mozilla_django_oidc",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    AUTHENTICATION_BACKENDS=[f"{__name__}.GatehouseBackend"],
    LOGIN_REDIRECT_URL="/",
    OIDC_RP_CLIENT_ID=os.environ["CLIENT_ID"],
    OIDC_RP_CLIENT_SECRET=os.environ["CLIENT_SECRET"],
    OIDC_OP_AUTHORIZATION_ENDPOINT=server["authorization_endpoint"],
    OIDC_OP_TOKEN_ENDPOINT=server["token_endpoint"],
    OIDC_OP_USER_ENDPOINT=server["userinfo_endpoint"],
    OIDC_OP_JWKS_ENDPOINT=server["jwks_uri"],
    OIDC_RP_SIGN_ALGO="ES256",
    OIDC_USE_PKCE=True,
    OIDC_PKCE_CODE_CHALLENGE_METHOD="S256",
    OIDC_RP_SCOPES="openid profile email account:read",
    OIDC_AUTH_REQUEST_EXTRA_PARAMS={"resource": ISSUER},
    OIDC_STORE_ID_TOKEN=True,
)
django.setup()

from mozilla_django_oidc.auth import OIDCAuthenticationBackend  # noqa: E402


class GatehouseBackend(OIDCAuthenticationBackend):
    def get_token(self, payload):
        """Adds `resource`, because no setting can add a parameter to the token request."""
        token = super().get_token({**payload, "resource": ISSUER})
        # The library does not store the refresh token.
        self.request.session["token"] = token
        return token


def refresh(request):
    token = request.session["token"]
    answer = requests.post(
        server["token_endpoint"],
        data={
            "grant_type": "refresh_token",
            "refresh_token": token["refresh_token"],
            "client_id": settings.OIDC_RP_CLIENT_ID,
            "client_secret": settings.OIDC_RP_CLIENT_SECRET,
            "resource": ISSUER,
        },
    )
    answer.raise_for_status()
    # The response has a new refresh token, but no id_token.
    request.session["token"] = {**token, **answer.json()}
    return HttpResponseRedirect("/")


def logout(request):
    back = {
        "id_token_hint": request.session["oidc_id_token"],
        "post_logout_redirect_uri": os.environ["SIGNED_OUT_URI"],
    }
    django.contrib.auth.logout(request)
    return HttpResponseRedirect(f"{server['end_session_endpoint']}?{urlencode(back)}")


def home(request):
    if not request.user.is_authenticated:
        return HttpResponse('<a href="/login">Sign in</a>')
    answer = requests.post(
        f"{ISSUER}/member/graphql",
        headers={"Authorization": f"Bearer {request.session['token']['access_token']}"},
        json={"query": "{ viewer { name } }"},
    )
    return JsonResponse(answer.json())


urlpatterns = [
    path("", home),
    path("login", lambda request: HttpResponseRedirect("/oidc/authenticate/")),
    path("refresh", refresh),
    path("logout", logout),
    # /oidc/authenticate/ and /oidc/callback/
    path("oidc/", include("mozilla_django_oidc.urls")),
]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("runserver", f"127.0.0.1:{os.environ['PORT']}", use_reloader=False)
