import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { decodeJwt } from 'jose'
import type { Page } from 'playwright-core'

import type { Package } from '../support/install.ts'
import { anchorOf } from '../support/markdown.ts'
import { temporaryFolder } from '../support/programs.ts'
import type { Library } from './library-table.ts'
import { type Settings as ClientSettings, startCommand } from './program.ts'

/** The environment of an example, and where the product sends the browser at the end. */
type Settings = ClientSettings & { readonly ARRIVAL: string }

/** A running product, and how a person signs in to it through the service. */
export interface StartedProduct extends AsyncDisposable {
  readonly signInUrl: string
  transcript(): string
  /** Answers a page of the product, if it shows one. */
  goOn?(page: Page): Promise<void>
  /** Returns the e-mail address of the person who signed in. `arrived` is the browser's final URL. */
  person(arrived: URL): Promise<unknown>
}

const START_TIMEOUT_MS = 90_000
const examples = join(import.meta.dirname, '../../examples/products')
const PRODUCT_SECRET = 'a secret of this test'

/** Returns an example with its placeholders replaced by the values of this run. */
function fill(example: string, settings: Settings): string {
  const values = { ...settings, PRODUCT_SECRET, PRODUCT_REDIRECT_URI: settings.ARRIVAL }
  const text = readFileSync(join(examples, example), 'utf8')
  return text.replaceAll(/\$([A-Z_]+)/g, (_all, name: string) => Reflect.get(values, name) ?? '')
}

/** Starts Keycloak. It uses PKCE at the service, and has a client that does not. */
async function keycloak(settings: Settings, folder: string): Promise<StartedProduct> {
  const home = join(folder, 'program')
  rmSync(join(home, 'data'), { recursive: true, force: true })
  mkdirSync(join(home, 'data/import'), { recursive: true })
  const realm = fill('keycloak-realm.json', settings)
  writeFileSync(join(home, 'data/import/school-realm.json'), realm)
  const command = [
    ...[join(home, 'bin/kc.sh'), 'start-dev', '--import-realm', '--http-host=127.0.0.1'],
    ...[`--http-port=${settings.PORT}`, '--http-management-port=0'],
  ]
  const school = `${settings.APP_URL}/realms/school`
  const memory = { JAVA_OPTS_APPEND: '-Xmx512m' }
  const program = await startCommand(command, memory, school, START_TIMEOUT_MS)
  const url = `${school}/protocol/openid-connect`
  return {
    ...broker(settings, url, { kc_idp_hint: 'gatehouse' }),
    ...program,
    // The service has one name per person, but Keycloak requires two.
    async goOn(page) {
      if (!(await page.locator('#lastName').isVisible())) return
      await page.fill('#firstName', 'Sam')
      await page.fill('#lastName', 'Student')
      await page.click('[type=submit]')
    },
  }
}

/** Starts Dex. It uses PKCE at the service, and has a client that does not. */
async function dex(settings: Settings): Promise<StartedProduct> {
  const file = join(temporaryFolder(), 'dex.yaml')
  writeFileSync(file, fill('dex.yaml', settings))
  const { APP_URL: url } = settings
  const program = await startCommand(['dex', 'serve', file], {}, url, START_TIMEOUT_MS)
  return { ...broker(settings, url), ...program }
}

/** Returns a client of a broker. It uses the code flow without PKCE. */
function broker({ ARRIVAL }: Settings, url: string, more: Readonly<Record<string, string>> = {}) {
  const query = new URLSearchParams({
    ...{ client_id: 'product', response_type: 'code', redirect_uri: ARRIVAL, state: 's' },
    ...{ scope: 'openid email', ...more },
  })
  return {
    signInUrl: `${url}/auth?${query}`,
    async person(arrived: URL) {
      const body = new URLSearchParams({
        ...{ grant_type: 'authorization_code', redirect_uri: ARRIVAL },
        code: arrived.searchParams.get('code') ?? '',
        ...{ client_id: 'product', client_secret: PRODUCT_SECRET },
      })
      const response = await fetch(`${url}/token`, { method: 'POST', body })
      const { id_token } = (await response.json()) as { id_token: string }
      return decodeJwt(id_token)['email']
    },
  }
}

/** Starts Synapse, a chat server, which derives user names from e-mail addresses in this configuration. */
async function synapse(settings: Settings, folder: string): Promise<StartedProduct> {
  const place = temporaryFolder()
  const [own, provider] = [join(place, 'homeserver.yaml'), join(place, 'provider.yaml')]
  // Verification is off only because this issuer is not https.
  writeFileSync(provider, `${fill('synapse.yaml', settings)}    skip_verification: true\n`)
  const listener = { port: Number(settings.PORT), bind_addresses: ['127.0.0.1'], type: 'http' }
  const configuration = {
    server_name: 'school.example',
    listeners: [{ ...listener, resources: [{ names: ['client'] }] }],
    database: { name: 'sqlite3', args: { database: join(place, 'homeserver.db') } },
    ...{ signing_key_path: join(place, 'signing.key'), media_store_path: join(place, 'media') },
    ...{ macaroon_secret_key: 'a secret of this test', form_secret: 'another of this test' },
    ...{ report_stats: false, trusted_key_servers: [] },
    sso: { client_whitelist: [settings.ARRIVAL] },
  }
  writeFileSync(own, JSON.stringify(configuration))
  const python = join(folder, 'bin/python')
  const server = [python, '-m', 'synapse.app.homeserver', '-c', own, '-c', provider]
  await promisify(execFile)(python, [...server.slice(1), '--generate-keys'])
  const program = await startCommand(server, {}, settings.APP_URL, START_TIMEOUT_MS)
  const path = `${settings.APP_URL}/_matrix/client/v3/login`
  const query = new URLSearchParams({ redirectUrl: settings.ARRIVAL })
  return {
    ...program,
    signInUrl: `${path}/sso/redirect/oidc-gatehouse?${query}`,
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

/** Starts kubelogin, which signs a person in and prints a credential for kubectl. */
async function kubelogin(settings: Settings): Promise<StartedProduct> {
  const command = [
    ...['kubelogin', 'get-token', '--skip-open-browser', '--token-cache-storage=none'],
    ...[`--oidc-issuer-url=${settings.ISSUER}`, `--oidc-client-id=${settings.CLIENT_ID}`],
    ...[`--oidc-client-secret=${settings.CLIENT_SECRET}`, '--oidc-extra-scope=email'],
    `--listen-address=127.0.0.1:${settings.PORT}`,
    `--oidc-redirect-url=${settings.REDIRECT_URI}`,
    `--open-url-after-authentication=${settings.ARRIVAL}`,
  ]
  const program = await startCommand(command, {}, settings.APP_URL, START_TIMEOUT_MS)
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

/** A product that `npm run test:interop -- --all` signs a person in to. */
export interface Product extends Pick<Library, 'name' | 'version' | 'authentication'> {
  readonly family: 'product'
  readonly callbackPath: string
  /** A package, or a program on PATH. */
  readonly package: Package | { readonly registry: 'program'; readonly program: string }
  readonly setting: string
  start(settings: Settings, folder: string): Promise<StartedProduct>
}

const usual = { family: 'product', authentication: 'client_secret_post' } as const

export const products: readonly Product[] = [
  {
    ...{ ...usual, name: 'Keycloak', version: '26.7.0', start: keycloak },
    callbackPath: '/realms/school/broker/gatehouse/endpoint',
    setting: 'enable PKCE: see [below](#keycloak)',
    package: { registry: 'maven', name: 'org.keycloak:keycloak-quarkus-dist', version: '26.7.0' },
  },
  {
    ...{ ...usual, name: 'Dex', version: '2.45', start: dex },
    ...{ callbackPath: '/callback', package: { registry: 'program', program: 'dex' } },
    setting: 'see [below](#dex)',
  },
  {
    ...{ ...usual, name: 'Matrix Synapse', version: '1.163.2', start: synapse },
    callbackPath: '/_synapse/client/oidc/callback',
    setting: 'see [below](#matrix-synapse)',
    package: { registry: 'pypi', name: 'matrix-synapse[oidc]', version: '1.163.2' },
  },
  {
    ...{ ...usual, name: 'kubelogin', version: '1.36.0', start: kubelogin },
    ...{ callbackPath: '/', package: { registry: 'program', program: 'kubelogin' } },
    setting: 'It opens the browser every ten minutes, because its credential is the id_token',
  },
]

/** Rows of docs/libraries/products.md: name, version, note, and how it was tested. */
export const productRows = products.map(({ name, version, setting }) => [
  ...[`[${name}](#${anchorOf(name)})`, version, setting, 'automatically'],
])
