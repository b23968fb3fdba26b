import expectedResults from './expected.json' with { type: 'json' }

/** How a module of the suite may end. A person has to look at a page where it says REVIEW. */
export type Result = 'PASSED' | 'WARNING' | 'REVIEW' | 'SKIPPED' | 'FAILED' | 'UNKNOWN'

export interface Plan {
  /** What the suite calls it. */
  readonly name: string
  /** What is chosen of a plan that has several forms. */
  readonly variant: Readonly<Record<string, string>>
  readonly meaning: string
  /** What the service is started with for it; the profile alone, where it is left out. */
  readonly wants?: Wants
}

/** What of the service is on for a plan. */
export interface Wants {
  /** The conformance profile, for what asks without PKCE. */
  readonly profile: boolean
  /** All that is off by default (operations, Further plans). */
  readonly furtherPlans: boolean
}

/** Plans of the suite that this service is run against, by their name on the command line. */
export const plans = {
  basic: {
    name: 'oidcc-basic-certification-test-plan',
    variant: { server_metadata: 'discovery', client_registration: 'static_client' },
    meaning: 'Basic OP: the code flow',
  },
  config: {
    name: 'oidcc-config-certification-test-plan',
    variant: {},
    meaning: 'Config OP: the discovery document',
  },
  formpost: {
    name: 'oidcc-formpost-basic-certification-test-plan',
    variant: { server_metadata: 'discovery', client_registration: 'static_client' },
    meaning: 'Form Post OP: the code flow with response_mode=form_post',
  },
  logout: {
    name: 'oidcc-rp-initiated-logout-certification-test-plan',
    variant: { client_registration: 'static_client', response_type: 'code' },
    meaning: 'RP-Initiated Logout OP',
  },
  backchannel: {
    name: 'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
    variant: { client_registration: 'static_client', response_type: 'code' },
    meaning: 'Back-Channel Logout OP',
    wants: { profile: true, furtherPlans: true },
  },
  fapi2: {
    name: 'fapi2-security-profile-final-test-plan',
    variant: {
      fapi_profile: 'plain_fapi',
      client_auth_type: 'private_key_jwt',
      sender_constrain: 'dpop',
      openid: 'openid_connect',
      authorization_request_type: 'simple',
    },
    meaning: 'FAPI 2.0 Security Profile',
    wants: { profile: false, furtherPlans: true },
  },
  all: {
    name: 'oidcc-test-plan',
    variant: {
      client_auth_type: 'client_secret_basic',
      response_type: 'code',
      response_mode: 'default',
      client_registration: 'static_client',
    },
    meaning: 'no certificate: every module that applies, the one of key rotation among them',
  },
} as const satisfies Record<string, Plan>

export type PlanName = keyof typeof plans
export const planNames = Object.keys(plans) as PlanName[]

export function wantsOf(plan: PlanName): Wants {
  const { wants = { profile: true, furtherPlans: false } }: Plan = plans[plan]
  return wants
}

/** What every module of a plan is expected to end with, as `expected.json` has it. */
export function expectedOf(plan: PlanName): ReadonlyMap<string, Result> {
  return new Map(Object.entries(expectedResults[plan])) as ReadonlyMap<string, Result>
}
