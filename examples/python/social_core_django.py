"""A whole Django site in one file: one class, settings, four views."""

import os
import tempfile
from urllib.parse import urlencode

import django
import requests
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.urls import include, path
from social_core.backends.open_id_connect import OpenIdConnectAuth

ISSUER = os.environ["ISSUER"]


class GatehouseOAuth2(OpenIdConnectAuth):
    name = "gatehouse"
    OIDC_ENDPOINT = ISSUER
    DEFAULT_SCOPE = ["openid", "profile", "email", "account:read"]
    DEFAULT_USE_PKCE = True
    TOKEN_ENDPOINT_AUTH_METHOD = "client_secret_post"
    JWT_ALGORITHMS = ["ES256"]
    EXTRA_DATA = ["id_token", "refresh_token"]

    def auth_complete_params(self, state=None):
        """Adds `resource`, because no setting can add a parameter to the token request."""
        return {**super().auth_complete_params(state), "resource": ISSUER}

    def refresh_token_params(self, token, *args, **kwargs):
        return {**super().refresh_token_params(token, *args, **kwargs), "resource": ISSUER}


settings.configure(
    SECRET_KEY="a secret of this example",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
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
        "social_django",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    AUTHENTICATION_BACKENDS=[f"{__name__}.GatehouseOAuth2"],
    LOGIN_REDIRECT_URL="/",
    SOCIAL_AUTH_GATEHOUSE_KEY=os.environ["CLIENT_ID"],
    SOCIAL_AUTH_GATEHOUSE_SECRET=os.environ["CLIENT_SECRET"],
    SOCIAL_AUTH_GATEHOUSE_AUTH_EXTRA_ARGUMENTS={"resource": ISSUER},
)
django.setup()

from social_django.utils import load_strategy  # noqa: E402


def account_of(request):
    return request.user.social_auth.get(provider="gatehouse")


def login(request):
    # The library starts a sign-in only when a form is submitted.
    return HttpResponse(
        f'''<form method="post" action="/login/gatehouse/">
        <input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">
        <button type="submit">Sign in</button></form>'''
    )


def refresh(request):
    # The response has a new refresh token, but no id_token.
    account_of(request).refresh_token(load_strategy(request))
    return HttpResponseRedirect("/")


def logout(request):
    back = {
        "id_token_hint": account_of(request).extra_data["id_token"],
        "post_logout_redirect_uri": os.environ["SIGNED_OUT_URI"],
    }
    django.contrib.auth.logout(request)
    url = GatehouseOAuth2().oidc_config()["end_session_endpoint"]
    return HttpResponseRedirect(f"{url}?{urlencode(back)}")


def home(request):
    if not request.user.is_authenticated:
        return HttpResponse('<a href="/login">Sign in</a>')
    token = account_of(request).extra_data["access_token"]
    answer = requests.post(
        f"{ISSUER}/member/graphql",
        headers={"Authorization": f"Bearer {token}"},
        json={"query": "{ viewer { name } }"},
    )
    return JsonResponse(answer.json())


urlpatterns = [
    path("", home),
    path("login", login),
    path("refresh", refresh),
    path("logout", logout),
    # /login/gatehouse/ and /complete/gatehouse/
    path("", include("social_django.urls", namespace="social")),
]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("runserver", f"127.0.0.1:{os.environ['PORT']}", use_reloader=False)
