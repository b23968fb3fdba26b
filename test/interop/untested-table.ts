import type { ResourceWay } from './library-table.ts'

/** A library without a program here. */
export interface UntestedLibrary {
  readonly name: string
  readonly page: 'node' | 'browser' | 'python' | 'go' | 'java' | 'others'
  /**
   * `seen`: a program that is not kept here signed in with this version in November 2026. `read`:
   * the library's own documentation says what to set.
   */
  readonly known: 'seen' | 'read'
  readonly version: string
  /** `not tried`: it signed in with identity scopes, which need none. */
  readonly resource: ResourceWay | 'not tried'
}

export const untested: readonly UntestedLibrary[] = [
  {
    ...{ name: '@badgateway/oauth2-client', version: '3.3.1', page: 'node' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'grant', version: '5.4', page: 'node' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'openid-client/passport', version: '6.8.9', page: 'node' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'remix-auth-oauth2', version: '3.4.1', page: 'node' },
    ...{ known: 'seen', resource: 'code of yours' },
  },
  {
    ...{ name: '@auth/express', version: '0.12.3', page: 'node' },
    ...{ known: 'seen', resource: 'code of yours' },
  },
  {
    ...{ name: '@hapi/bell', version: '13.2.0', page: 'node' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: '@hono/oidc-auth', version: '1.8.1', page: 'node' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'client-oauth2', version: '4.3.3', page: 'node' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'angular-auth-oidc-client', version: '22', page: 'browser' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: '@openid/appauth', version: '1.4', page: 'browser' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'react-oidc-context', version: '3.3.1', page: 'browser' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: '@axa-fr/react-oidc', version: '7.29.1', page: 'browser' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: 'oidc-react', version: '4.0.1', page: 'browser' },
    ...{ known: 'seen', resource: 'code of yours' },
  },
  {
    ...{ name: 'vue3-oidc', version: '1.0.2', page: 'browser' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: 'react-oauth2-code-pkce', version: '1.24.0', page: 'browser' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: '@azure/msal-browser', version: '5.29.0', page: 'browser' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: '@okta/okta-auth-js', version: '8.0.1', page: 'browser' },
    ...{ known: 'seen', resource: 'code of yours' },
  },
  {
    ...{ name: 'oidc-client, the predecessor', version: '1.11.5', page: 'browser' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: 'httpx-oauth', version: '0.17', page: 'python' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'oauthlib', version: '4.0.1', page: 'python' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'pyoidc, the package oic', version: '1.7.0', page: 'python' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'django-allauth', version: '65.21.1', page: 'python' },
    ...{ known: 'seen', resource: 'not tried' },
  },
  {
    ...{ name: 'Flask-OIDC', version: '2.4.0', page: 'python' },
    ...{ known: 'seen', resource: 'not tried' },
  },
  {
    ...{ name: 'idpyoidc', version: '5.0.0', page: 'python' },
    ...{ known: 'seen', resource: 'not tried' },
  },
  {
    ...{ name: 'requests_oauth2client', version: '1.8.0', page: 'python' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'Flask-Dance', version: '7.1.0', page: 'python' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: 'fastapi-sso', version: '0.23.0', page: 'python' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'JupyterHub, GenericOAuthenticator', version: '17.4.0', page: 'python' },
    ...{ known: 'seen', resource: 'a setting' },
  },
  {
    ...{ name: 'zitadel/oidc', version: '3.49', page: 'go' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'oauth2-proxy', version: '7.15', page: 'go' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'hashicorp/cap', version: '0.15', page: 'go' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'Nimbus OAuth 2.0 SDK', version: '11.23', page: 'java' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'pac4j-oidc', version: '6.1.3', page: 'java' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'ScribeJava', version: '8.3.3', page: 'java' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'google-oauth-client', version: '1.39.0', page: 'java' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'omniauth_openid_connect', version: '0.8', page: 'others' },
    ...{ known: 'seen', resource: 'not at all' },
  },
  {
    ...{ name: 'openid_connect, the gem', version: '1.2', page: 'others' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'oauth2, the gem', version: '1.4.4', page: 'others' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'league/oauth2-client', version: '2.9', page: 'others' },
    ...{ known: 'seen', resource: 'an argument of the call' },
  },
  {
    ...{ name: 'oidc-agent', version: '4.2.6', page: 'others' },
    ...{ known: 'seen', resource: 'not tried' },
  },
  {
    ...{ name: 'ASP.NET Core OpenIdConnect', version: '9', page: 'others' },
    ...{ known: 'read', resource: 'code of yours' },
  },
]

/** A library that cannot sign anybody in here. */
export interface UnfitLibrary {
  readonly name: string
  readonly version: string
  readonly because: string
  readonly instead: string
}

export const unfit: readonly UnfitLibrary[] = [
  {
    ...{ name: 'passport-openidconnect', version: '0.1.2', because: 'it has no PKCE' },
    instead: '[passport-oauth2](node.md#passport-oauth2), or openid-client 6',
  },
  {
    ...{ name: 'goth', version: '1.82', because: 'it has no PKCE' },
    instead: '[go-oidc with x/oauth2](go.md#go-oidc-with-xoauth2)',
  },
  {
    ...{ name: 'gitlab-omniauth-openid-connect', version: '0.10' },
    because: 'it has no PKCE; Debian’s package ruby-omniauth-openid-connect is this one',
    instead: 'the gem [omniauth_openid_connect](others.md#omniauth_openid_connect)',
  },
  {
    ...{ name: 'jumbojett/openid-connect-php', version: '1' },
    because: 'it knows no ES256, and verifies every id_token',
    instead: '[league/oauth2-client](others.md#leagueoauth2-client)',
  },
  {
    ...{ name: 'keycloak-js', version: '26.2.4' },
    because:
      "its token request has `credentials: 'include'`, and no answer here admits cookies of another origin",
    instead: '[oidc-client-ts](browser.md#oidc-client-ts)',
  },
  {
    ...{ name: 'Flask-pyoidc', version: '3.14.3' },
    because: 'it has no PKCE',
    instead: '[Flask-OIDC](python.md#flask-oidc), or Authlib',
  },
  {
    ...{ name: 'simple-openid-connect', version: '2.5.0' },
    because: 'it knows no ES256, and verifies every id_token',
    instead: '[Authlib](python.md#authlib), or requests_oauth2client',
  },
  {
    ...{ name: 'msal, for Python', version: '1.39.0' },
    because: '`oidc_authority` wants an issuer with a path',
    instead: '[Authlib](python.md#authlib)',
  },
  {
    ...{ name: 'Mojolicious::Plugin::OAuth2', version: '2.02' },
    because: 'its token request takes no `code_verifier`',
    instead: '[mod_auth_openidc](others.md#mod_auth_openidc) in front of the application',
  },
]
