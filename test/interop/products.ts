import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { decodeJwt } from 'jose'
import type { Page } from 'playwright-core'

import { temporaryFolder } from '../support/programs.ts'
import { type Settings as ClientSettings, startCommand } from './program.ts'

/** The environment of an example, and where the product sends the browser at the end. */
export interface Settings extends ClientSettings {
  readonly ARRIVAL: string
}

/** A running product, and how a person signs in to it through the service. */
export interface StartedProduct extends AsyncDisposable {
  readonly signInUrl: string
  transcript(): string
  /** Answers a page of the product, if it shows one. */
  goOn?(page: Page): Promise<void>
  /** The e-mail address of the person who signed in, given where the browser arrived; undefined before. */
  person(arrived: URL): Promise<unknown>
}

const START_TIMEOUT_MS = 90_000
const noPkce = { id: 'no-pkce', secret: 'a client that cannot send PKCE' }

/** Keycloak signs in a client without PKCE, and is itself a client with PKCE. */
export async function keycloak(settings: Settings, folder: string): Promise<StartedProduct> {
  const home = join(folder, 'keycloak')
  rmSync(join(home, 'data'), { recursive: true, force: true })
  mkdirSync(join(home, 'data/import'), { recursive: true })
  const discovery = await fetch(`${settings.ISSUER}/.well-known/openid-configuration`)
  const metadata = (await discovery.json()) as Readonly<Record<string, string>>
  writeFileSync(
    join(home, 'data/import/school-realm.json'),
    JSON.stringify({
      ...{ realm: 'school', enabled: true, sslRequired: 'none' },
      clients: [
        {
          ...{ clientId: noPkce.id, secret: noPkce.secret, protocol: 'openid-connect' },
          redirectUris: [settings.ARRIVAL],
        },
      ],
      identityProviders: [
        {
          ...{ alias: 'gatehouse', providerId: 'oidc', enabled: true, trustEmail: true },
          config: {
            ...{ issuer: settings.ISSUER, clientId: settings.CLIENT_ID },
            ...{ clientSecret: settings.CLIENT_SECRET, clientAuthMethod: 'client_secret_post' },
            authorizationUrl: metadata['authorization_endpoint'],
            ...{ tokenUrl: metadata['token_endpoint'], jwksUrl: metadata['jwks_uri'] },
            ...{
              useJwksUrl: 'true',
              validateSignature: 'true',
              defaultScope: 'openid profile email',
            },
            ...{ pkceEnabled: 'true', pkceMethod: 'S256' },
          },
        },
      ],
    }),
  )
  const url = `${settings.APP_URL}/realms/school/protocol/openid-connect`
  const program = await startCommand(
    [
      ...[join(home, 'bin/kc.sh'), 'start-dev', '--import-realm', '--http-host=127.0.0.1'],
      ...[`--http-port=${settings.PORT}`, '--http-management-port=0'],
    ],
    { JAVA_OPTS_APPEND: '-Xmx512m' },
    `${settings.APP_URL}/realms/school`,
    START_TIMEOUT_MS,
  )
  return {
    ...broker(settings, url, { kc_idp_hint: 'gatehouse' }),
    ...program,
    // The service has one name per person, Keycloak wants two.
    async goOn(page) {
      if (!(await page.locator('#lastName').isVisible())) return
      await page.fill('#firstName', 'Sam')
      await page.fill('#lastName', 'Student')
      await page.click('[type=submit]')
    },
  }
}

/** Dex signs in a client without PKCE, and is itself a client with PKCE. */
export async function dex(settings: Settings): Promise<StartedProduct> {
  const file = join(temporaryFolder(), 'dex.json')
  writeFileSync(
    file,
    JSON.stringify({
      ...{ issuer: settings.APP_URL, storage: { type: 'memory' } },
      ...{ web: { http: `127.0.0.1:${settings.PORT}` }, oauth2: { skipApprovalScreen: true } },
      staticClients: [{ ...noPkce, name: 'No PKCE', redirectURIs: [settings.ARRIVAL] }],
      connectors: [
        {
          ...{ type: 'oidc', id: 'gatehouse', name: 'Gatehouse' },
          config: {
            ...{ issuer: settings.ISSUER, redirectURI: settings.REDIRECT_URI },
            ...{ clientID: settings.CLIENT_ID, clientSecret: settings.CLIENT_SECRET },
            scopes: ['openid', 'profile', 'email'],
          },
        },
      ],
    }),
  )
  const { APP_URL: url } = settings
  const program = await startCommand(['dex', 'serve', file], {}, url, START_TIMEOUT_MS)
  return { ...broker(settings, url), ...program }
}

/** The client of a broker: the code flow without PKCE. */
function broker({ ARRIVAL }: Settings, url: string, more: Readonly<Record<string, string>> = {}) {
  const query = new URLSearchParams({
    ...{ client_id: noPkce.id, response_type: 'code', redirect_uri: ARRIVAL, state: 's' },
    ...{ scope: 'openid email', ...more },
  })
  return {
    signInUrl: `${url}/auth?${query}`,
    async person(arrived: URL) {
      const response = await fetch(`${url}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          ...{ grant_type: 'authorization_code', redirect_uri: ARRIVAL },
          code: arrived.searchParams.get('code') ?? '',
          ...{ client_id: noPkce.id, client_secret: noPkce.secret },
        }),
      })
      const { id_token } = (await response.json()) as { id_token: string }
      return decodeJwt(id_token)['email']
    },
  }
}

/** A chat server, which names its people by their e-mail address here. */
export async function synapse(settings: Settings, folder: string): Promise<StartedProduct> {
  const place = temporaryFolder()
  const file = join(place, 'homeserver.yaml')
  writeFileSync(
    file,
    JSON.stringify({
      ...{ server_name: 'school.example', public_baseurl: `${settings.APP_URL}/` },
      listeners: [
        {
          ...{ port: Number(settings.PORT), bind_addresses: ['127.0.0.1'], type: 'http' },
          resources: [{ names: ['client'] }],
        },
      ],
      database: { name: 'sqlite3', args: { database: join(place, 'homeserver.db') } },
      ...{ signing_key_path: join(place, 'signing.key'), media_store_path: join(place, 'media') },
      ...{ macaroon_secret_key: 'a secret of this test', form_secret: 'another of this test' },
      ...{
        report_stats: false,
        trusted_key_servers: [],
        sso: { client_whitelist: [settings.ARRIVAL] },
      },
      oidc_providers: [
        {
          ...{ idp_id: 'gatehouse', idp_name: 'Gatehouse', issuer: settings.ISSUER },
          ...{ client_id: settings.CLIENT_ID, client_secret: settings.CLIENT_SECRET },
          ...{ scopes: ['openid', 'profile', 'email'], client_auth_method: 'client_secret_post' },
          // Only because this issuer is not https.
          skip_verification: true,
          user_mapping_provider: {
            config: { localpart_template: "{{ user.email.split('@')[0] }}" },
          },
        },
      ],
    }),
  )
  const python = join(folder, 'bin/python')
  const server = [python, '-m', 'synapse.app.homeserver', '-c', file]
  await using _keys = await startCommand([...server, '--generate-keys'], {}, 'none:', 0).catch(
    () => undefined,
  )
  const program = await startCommand(server, {}, settings.APP_URL, START_TIMEOUT_MS)
  const path = `${settings.APP_URL}/_matrix/client/v3/login`
  return {
    ...program,
    signInUrl: `${path}/sso/redirect/oidc-gatehouse?${new URLSearchParams({ redirectUrl: settings.ARRIVAL })}`,
    async person(arrived) {
      const token = arrived.searchParams.get('loginToken')
      const body = JSON.stringify({ type: 'm.login.token', token })
      const response = await fetch(path, { method: 'POST', body })
      const { user_id } = (await response.json()) as { user_id?: string }
      // The user name is the local part of the e-mail address.
      return user_id?.replace(/^@(.+):school\.example$/, '$1@northlight.example')
    },
  }
}

/** Signs a person in to a cluster: prints a credential for kubectl. */
export async function kubelogin(settings: Settings): Promise<StartedProduct> {
  const program = await startCommand(
    [
      ...['kubelogin', 'get-token', '--skip-open-browser', '--token-cache-storage=none'],
      ...[`--oidc-issuer-url=${settings.ISSUER}`, `--oidc-client-id=${settings.CLIENT_ID}`],
      ...[`--oidc-client-secret=${settings.CLIENT_SECRET}`, '--oidc-extra-scope=email'],
      ...[
        `--listen-address=127.0.0.1:${settings.PORT}`,
        `--oidc-redirect-url=${settings.REDIRECT_URI}`,
      ],
      `--open-url-after-authentication=${settings.ARRIVAL}`,
    ],
    {},
    settings.APP_URL,
    START_TIMEOUT_MS,
  )
  return {
    ...program,
    signInUrl: settings.APP_URL,
    async person() {
      const credential = /^\{.*"ExecCredential".*\}$/m.exec(program.transcript())?.[0] ?? '{}'
      const token = JSON.parse(credential).status?.token
      return token && decodeJwt(token)['email']
    },
  }
}
