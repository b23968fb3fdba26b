import type { ResourceWay } from './library-table.ts'

type Row = readonly [
  name: string,
  version: string,
  /** `not tried`: it signed in with identity scopes, which need no resource. */
  resource: ResourceWay | 'not tried',
]

/**
 * Libraries without a program here, by the page that describes them. A program that is not kept signed in with each
 * of them in November 2026, except with those of `readOnly`.
 */
const rows: Readonly<Record<'node' | 'browser' | 'python' | 'go' | 'java' | 'others', Row[]>> = {
  node: [
    ['@badgateway/oauth2-client', '3.3.1', 'a call argument'],
    ['grant', '5.4', 'not at all'],
    ['openid-client/passport', '6.8.9', 'a call argument'],
    ['remix-auth-oauth2', '3.4.1', 'your own code'],
    ['@auth/express', '0.12.3', 'your own code'],
    ['@hapi/bell', '13.2.0', 'not at all'],
    ['@hono/oidc-auth', '1.8.1', 'not at all'],
    ['client-oauth2', '4.3.3', 'a call argument'],
  ],
  browser: [
    ['angular-auth-oidc-client', '22', 'a setting'],
    ['@openid/appauth', '1.4', 'a call argument'],
    ['react-oidc-context', '3.3.1', 'a setting'],
    ['@axa-fr/react-oidc', '7.29.1', 'a setting'],
    ['oidc-react', '4.0.1', 'your own code'],
    ['vue3-oidc', '1.0.2', 'a setting'],
    ['react-oauth2-code-pkce', '1.24.0', 'a setting'],
    ['@azure/msal-browser', '5.29.0', 'a call argument'],
    ['@okta/okta-auth-js', '8.0.1', 'your own code'],
    ['oidc-client, the predecessor', '1.11.5', 'a setting'],
  ],
  python: [
    ['httpx-oauth', '0.17', 'not at all'],
    ['oauthlib', '4.0.1', 'a call argument'],
    ['pyoidc, the package oic', '1.7.0', 'a call argument'],
    ['django-allauth', '65.21.1', 'not tried'],
    ['Flask-OIDC', '2.4.0', 'not tried'],
    ['idpyoidc', '5.0.0', 'not tried'],
    ['requests_oauth2client', '1.8.0', 'a call argument'],
    ['Flask-Dance', '7.1.0', 'a setting'],
    ['fastapi-sso', '0.23.0', 'not at all'],
    ['JupyterHub, GenericOAuthenticator', '17.4.0', 'a setting'],
  ],
  go: [
    ['zitadel/oidc', '3.49', 'a call argument'],
    ['oauth2-proxy', '7.15', 'not at all'],
    ['hashicorp/cap', '0.15', 'not at all'],
  ],
  java: [
    ['Nimbus OAuth 2.0 SDK', '11.23', 'a call argument'],
    ['pac4j-oidc', '6.1.3', 'not at all'],
    ['ScribeJava', '8.3.3', 'a call argument'],
    ['google-oauth-client', '1.39.0', 'a call argument'],
  ],
  others: [
    ['omniauth_openid_connect', '0.8', 'not at all'],
    ['openid_connect, the gem', '1.2', 'a call argument'],
    ['oauth2, the gem', '1.4.4', 'a call argument'],
    ['league/oauth2-client', '2.9', 'a call argument'],
    ['oidc-agent', '4.2.6', 'not tried'],
    ['ASP.NET Core OpenIdConnect', '9', 'your own code'],
  ],
}

/** Known from their own documentation only. */
const readOnly = ['ASP.NET Core OpenIdConnect']

export const untested = Object.entries(rows).flatMap(([page, ofPage]) =>
  ofPage.map(([name, version, resource]) => {
    const known = readOnly.includes(name) ? 'read' : 'seen'
    return { name, page, known, version, resource }
  }),
)

/** Libraries that cannot sign in here. */
export const unfit = [
  {
    ...{ name: 'passport-openidconnect', version: '0.1.2', because: 'it does not support PKCE' },
    instead: '[passport-oauth2](node.md#passport-oauth2), or openid-client 6',
  },
  {
    ...{ name: 'goth', version: '1.82', because: 'it does not support PKCE' },
    instead: '[go-oidc with x/oauth2](go.md#go-oidc-with-xoauth2)',
  },
  {
    ...{ name: 'gitlab-omniauth-openid-connect', version: '0.10' },
    because: 'it does not support PKCE; Debian’s package ruby-omniauth-openid-connect is this gem',
    instead: 'the gem [omniauth_openid_connect](others.md#omniauth_openid_connect)',
  },
  {
    ...{ name: 'jumbojett/openid-connect-php', version: '1' },
    because: 'it does not support ES256, but verifies every id_token',
    instead: '[league/oauth2-client](others.md#leagueoauth2-client)',
  },
  {
    ...{ name: 'keycloak-js', version: '26.2.4' },
    because:
      "its token request uses `credentials: 'include'`, which this service does not allow from other origins",
    instead: '[oidc-client-ts](browser.md#oidc-client-ts)',
  },
  {
    ...{ name: 'Flask-pyoidc', version: '3.14.3' },
    because: 'it does not support PKCE',
    instead: '[Flask-OIDC](python.md#flask-oidc), or Authlib',
  },
  {
    ...{ name: 'simple-openid-connect', version: '2.5.0' },
    because: 'it does not support ES256, but verifies every id_token',
    instead: '[Authlib](python.md#authlib), or requests_oauth2client',
  },
  {
    ...{ name: 'msal, for Python', version: '1.39.0' },
    because: '`oidc_authority` requires an issuer with a path',
    instead: '[Authlib](python.md#authlib)',
  },
  {
    ...{ name: 'Mojolicious::Plugin::OAuth2', version: '2.02' },
    because: 'its token request cannot send `code_verifier`',
    instead: '[mod_auth_openidc](others.md#mod_auth_openidc) in front of the application',
  },
]
