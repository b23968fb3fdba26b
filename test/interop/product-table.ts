import type { Package } from '../support/install.ts'
import { anchorOf } from '../support/markdown.ts'
import type { Library } from './library-table.ts'
import {
  dex,
  keycloak,
  kubelogin,
  type Settings,
  type StartedProduct,
  synapse,
} from './products.ts'

/** A product that `npm run test:interop -- --all` signs a person in to. */
export interface Product extends Pick<Library, 'name' | 'version' | 'authentication'> {
  readonly callbackPath: string
  readonly package:
    | Package
    /** An artifact of Maven Central: a zip with one folder. */
    | { readonly registry: 'maven'; readonly artifact: string }
    /** A program on PATH. */
    | { readonly registry: 'program'; readonly program: string }
  readonly setting: string
  start(settings: Settings, folder: string): Promise<StartedProduct>
}

const usual = { authentication: 'client_secret_post' } as const

export const products: readonly Product[] = [
  {
    ...{ ...usual, name: 'Keycloak', version: '26.7.0', start: keycloak },
    callbackPath: '/realms/school/broker/gatehouse/endpoint',
    setting: 'enable PKCE: see [below](#keycloak)',
    package: { registry: 'maven', artifact: 'org.keycloak:keycloak-quarkus-dist:26.7.0:zip' },
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

const NO_PKCE = 'no PKCE: use a [broker](#products-without-pkce-or-es256)'
const BROKER_RS256 = 'only RS256: use a [broker](#products-without-pkce-or-es256)'

type Row = readonly [name: string, version: string, setting: string]

/** Products that signed a person in by hand in November 2026. */
const tried: readonly Row[] = [
  ['Streamlit', '1.67', '–'],
  ['Miniflux', '2.3', '–'],
  ['nuxt-auth-utils', '0.5', '–'],
  ['Micronaut', '4.7', 'With `idtoken` sessions, it signs people out after ten minutes'],
  [
    'Superset, Airflow (Flask-AppBuilder)',
    '5.3',
    "`'code_challenge_method': 'S256'` in `client_kwargs`",
  ],
  ['dash-auth', '2.3', '`code_challenge_method: S256`'],
  ['vouch-proxy', '–', '`code_challenge_method: S256`'],
  ['pgAdmin', '9.18', "`OAUTH2_CHALLENGE_METHOD = 'S256'`, `OAUTH2_RESPONSE_TYPE = 'code'`"],
  [
    'Panel',
    '1.9',
    '`auth_code`, with a public application. It does not verify the signature of id_tokens',
  ],
  [
    'lua-resty-openidc',
    '1.8',
    '`use_pkce = true`. It does not verify ES256 signatures, but only logs a message',
  ],
  [
    'Quarkus',
    '3.20',
    '`quarkus.oidc.authentication.pkce-required=true`. It redirects people to Gatehouse every ten minutes',
  ],
  ['Vert.x', '4.5', '`setPkceVerifierLength(64)`. It does not check `iss`'],
  ['n8n', '1.23', 'the grant type *PKCE*. It can also send `resource`'],
  [
    'WordPress, OpenID Connect Generic',
    '3.10',
    'no PKCE: add it with a short plugin, or use a [broker](#products-without-pkce-or-es256)',
  ],
  ['PocketBase', '0.36', 'It accepts only people with `email_verified`: import `emailVerifiedAt`'],
  ['FastAPI-Users', '15', NO_PKCE],
  ['Directus', '11.3', BROKER_RS256],
]

/** Products whose source code or documentation was read. */
const read: readonly Row[] = [
  ['Nextcloud, user_oidc', '8.10', '–'],
  ['Discourse, OpenID Connect', '–', '`openid connect use pkce`'],
  ['Actual Budget', '25.6', BROKER_RS256],
  ['Moodle, OAuth 2 services', '5', NO_PKCE],
  ['Moodle, auth_oidc', '5.0', NO_PKCE],
  ['Canvas', '–', NO_PKCE],
]

/** The rows of docs/libraries/products.md: name, version, note, and how it was tested. */
export const productRows: readonly (readonly string[])[] = [
  ...products.map(({ name, version, setting }) => {
    return [`[${name}](#${anchorOf(name)})`, version, setting, 'automatically']
  }),
  ...tried.map((row) => [...row, 'in November 2026']),
  ...read.map((row) => [...row, 'no; its source code was read']),
]
