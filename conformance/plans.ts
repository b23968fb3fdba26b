import type { OptionalProtocols } from '../src/oauth/clients/optional-protocols.ts'
import expectedResults from './expected.json' with { type: 'json' }

/** The result of a module. REVIEW means that a person must check a page. */
export type Result = 'PASSED' | 'WARNING' | 'REVIEW' | 'SKIPPED' | 'FAILED' | 'UNKNOWN'

export interface Plan {
  /** The suite's name for the plan. */
  readonly name: string
  /** The suite's options for the plan. */
  readonly variant: Readonly<Record<string, string>>
  readonly meaning: string
  /** The service that the plan needs; `plain` by default. */
  readonly service?: ServiceKind
}

/** What a service enables. */
export interface Service {
  /** Whether the conformance profile is on, for modules without PKCE. */
  readonly profile: boolean
  readonly protocols: readonly Exclude<keyof OptionalProtocols, 'privateHosts'>[]
}

/**
 * The services for the plans. Each enables only what its plans need, because more can interrupt a module. For
 * example, an unexpected sign-out notice does.
 */
export const services = {
  plain: { profile: true, protocols: [] },
  backchannel: { profile: true, protocols: ['backChannelLogout'] },
  keys: { profile: true, protocols: ['privateKeyJwt'] },
  fapi2: { profile: false, protocols: ['pushedAuthorizationRequests', 'dpop', 'privateKeyJwt'] },
} as const satisfies Record<string, Service>

export type ServiceKind = keyof typeof services

const staticClient = { client_registration: 'static_client' }
const discovered = { server_metadata: 'discovery', ...staticClient }
const everyModule = (client_auth_type: string) => ({
  ...{ client_auth_type, response_type: 'code', response_mode: 'default', ...staticClient },
})
const fapi = {
  fapi_profile: 'plain_fapi',
  client_auth_type: 'private_key_jwt',
  sender_constrain: 'dpop',
  openid: 'openid_connect',
  authorization_request_type: 'simple',
}

/** The supported plans of the suite, by their name on the command line. */
export const plans = {
  config: {
    name: 'oidcc-config-certification-test-plan',
    variant: {},
    meaning: 'Config OP: the discovery document',
  },
  basic: {
    name: 'oidcc-basic-certification-test-plan',
    variant: discovered,
    meaning: 'Basic OP: the code flow',
  },
  formpost: {
    name: 'oidcc-formpost-basic-certification-test-plan',
    variant: discovered,
    meaning: 'Form Post OP: the code flow with response_mode=form_post',
  },
  logout: {
    name: 'oidcc-rp-initiated-logout-certification-test-plan',
    variant: { ...staticClient, response_type: 'code' },
    meaning: 'RP-Initiated Logout OP',
  },
  backchannel: {
    name: 'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
    variant: { ...staticClient, response_type: 'code' },
    meaning: 'Back-Channel Logout OP',
    service: 'backchannel',
  },
  fapi2: {
    name: 'fapi2-security-profile-final-test-plan',
    variant: fapi,
    meaning: 'FAPI 2.0 Security Profile',
    service: 'fapi2',
  },
  'fapi2-id2': {
    name: 'fapi2-security-profile-id2-test-plan',
    variant: fapi,
    meaning: 'FAPI 2.0 Security Profile, second implementer’s draft',
    service: 'fapi2',
  },
  all: {
    name: 'oidcc-test-plan',
    variant: everyModule('client_secret_basic'),
    meaning: 'all applicable modules, including key rotation; not for certification',
  },
  'all-post': {
    name: 'oidcc-test-plan',
    variant: everyModule('client_secret_post'),
    meaning: 'the same, with the secret in the form',
  },
  'all-keys': {
    name: 'oidcc-test-plan',
    variant: everyModule('private_key_jwt'),
    meaning: 'the same, with a key instead of a secret',
    service: 'keys',
  },
} as const satisfies Record<string, Plan>

export type PlanName = keyof typeof plans
export const planNames = Object.keys(plans) as PlanName[]

export function serviceOf(plan: PlanName): ServiceKind {
  const { service = 'plain' }: Plan = plans[plan]
  return service
}

/** Returns the expected result of each module of a plan, from `expected.json`. */
export function expectedOf(plan: PlanName): ReadonlyMap<string, Result> {
  return new Map(Object.entries(expectedResults[plan])) as ReadonlyMap<string, Result>
}
