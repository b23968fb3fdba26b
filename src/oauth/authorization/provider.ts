/** The engine, configured. It holds no policy of its own. */

import { type AdapterFactory, type Configuration, type JWK, Provider } from 'oidc-provider'

import { addressOf, promptPages } from '../../platform/http/paths.ts'
import { compareSecretsByDigest } from '../clients/client-metadata.ts'
import type { FurtherPlans } from '../clients/further-plans.ts'
import {
  findRememberedGrant,
  type RememberedGrantDependencies,
} from '../consent/remembered-grant.ts'
import type { UseOnce } from '../proofs/proofs.ts'
import { type ClaimsDependencies, makeFindAccount } from '../token/claims.ts'
import { type ConformanceProfile, overlay } from './conformance-profile.ts'
import { type EventDependencies, logEngineEvents } from './engine-events.ts'
import { engineErrorRenderer } from './engine-pages.ts'
import { rememberProofsOnce } from './engine-proofs.ts'
import { features, type ProtocolDependencies, protocol } from './engine-protocol.ts'
import { engineRequests, type RequestDependencies } from './engine-requests.ts'
import { type PromptDependencies, promptPolicy } from './prompts.ts'

export interface ProviderDependencies
  extends ProtocolDependencies,
    RememberedGrantDependencies,
    PromptDependencies,
    ClaimsDependencies,
    RequestDependencies,
    EventDependencies {
  readonly furtherPlans: FurtherPlans
  readonly adapter: AdapterFactory
  readonly useOnce: UseOnce
  /** Private ES256 keys, the one that signs first. */
  readonly keys: readonly JWK[]
  readonly cookieKeys: readonly string[]
  readonly lifetimes: {
    readonly authorizationCodeSeconds: number
    readonly accessTokenSeconds: number
    readonly idTokenSeconds: number
    readonly refreshTokenSeconds: number
    readonly refreshTokenAbsoluteSeconds: number
    readonly sessionSeconds: number
    readonly interactionSeconds: number
  }
  readonly grantSeconds: number
  readonly conformance: ConformanceProfile | undefined
}

/**
 * The certified engine, configured. This file connects it with policy and holds none itself; every
 * setting that is not obvious names the design decision or the trap that asks for it.
 */
export function createProvider(dependencies: ProviderDependencies): Provider {
  const { baseUrl, conformance } = dependencies
  const configuration: Configuration = {
    ...storage(dependencies),
    ...protocol(dependencies),
    ...people(dependencies),
    ttl: ttl(dependencies),
    features: features(dependencies),
    renderError: engineErrorRenderer(dependencies.documentResolution.documents.admitsAddress),
    ...engineRequests(dependencies),
  }
  const provider = new Provider(
    baseUrl,
    conformance ? overlay(configuration, conformance) : configuration,
  )
  compareSecretsByDigest(provider)
  rememberProofsOnce(provider, dependencies.useOnce)
  logEngineEvents(provider, dependencies)
  // Host and X-Forwarded-* were replaced by `pinnedHost`; the engine reads the scheme from there.
  provider.proxy = true
  return provider
}

function storage({ adapter, keys, cookieKeys, baseUrl }: ProviderDependencies): Configuration {
  const secure = baseUrl.startsWith('https:')
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure } as const
  return {
    adapter,
    jwks: { keys: [...keys] },
    cookies: {
      keys: [...cookieKeys],
      long: { ...cookie, path: '/' },
      short: { ...cookie },
      names: {
        // RFC 6265bis §4.1.3.2: a browser accepts the prefix from this very host only.
        session: secure ? '__Host-gatehouse' : 'gatehouse',
        interaction: 'gatehouse_interaction',
        resume: 'gatehouse_resume',
      },
    },
  }
}

function people(dependencies: ProviderDependencies): Configuration {
  return {
    findAccount: makeFindAccount(dependencies),
    loadExistingGrant: (ctx) => findRememberedGrant(ctx, dependencies),
    // Clients keep their refresh tokens when the person signs out of the browser.
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    interactions: {
      policy: promptPolicy(dependencies),
      url: (_ctx, { uid, prompt }) =>
        addressOf(promptPages[prompt.name as keyof typeof promptPages], { uid }),
    },
  }
}

function ttl({ lifetimes, grantSeconds }: ProviderDependencies): Configuration['ttl'] {
  const { refreshTokenSeconds, refreshTokenAbsoluteSeconds } = lifetimes
  return {
    AuthorizationCode: lifetimes.authorizationCodeSeconds,
    AccessToken: lifetimes.accessTokenSeconds,
    IdToken: lifetimes.idTokenSeconds,
    // A request to sign out makes one, whether or not a person is signed in.
    Session: (_ctx, { accountId }) =>
      accountId === undefined ? lifetimes.interactionSeconds : lifetimes.sessionSeconds,
    Interaction: lifetimes.interactionSeconds,
    Grant: grantSeconds,
    // Sliding, and absolute from the first token of the family.
    RefreshToken: (_ctx, token) =>
      Math.max(
        1,
        Math.min(refreshTokenSeconds, refreshTokenAbsoluteSeconds - token.totalLifetime()),
      ),
  }
}
