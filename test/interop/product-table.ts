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
  /** A package, or a program on PATH. */
  readonly package: Package | { readonly registry: 'program'; readonly program: string }
  readonly setting: string
  start(settings: Settings, folder: string): Promise<StartedProduct>
}

const usual = { authentication: 'client_secret_post' } as const

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
