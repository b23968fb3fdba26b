import type { ConformanceSettings } from '../src/oauth/authorization/conformance-profile.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import type { KeyClient } from './key-clients.ts'
import { expectedOf, type Plan, type PlanName, plans, serviceOf } from './plans.ts'

/** The configuration of a plan, in the format of the suite. */
export interface SuiteConfiguration {
  readonly alias: string
  readonly description: string
  readonly server: { readonly discoveryUrl: string; readonly login_hint: string }
  readonly client: SuiteClient | KeyClient
  readonly client2: SuiteClient | KeyClient
  readonly client_secret_post?: SuiteClient
  /** The protected resource that FAPI 2.0 modules call with an access token. */
  readonly resource?: { readonly resourceUrl: string }
  readonly options: { readonly browsercontrol_css_enable: boolean }
  readonly browser: readonly Visit[]
  /** The browser tasks that replace `browser` in individual modules. */
  readonly override: Readonly<Record<string, { readonly browser: readonly Visit[] }>>
}

interface SuiteClient {
  readonly client_id: string
  readonly client_secret: string
}

/** The tasks of the suite's browser after it opens a matching URL. Each task is for one page. */
export interface Visit {
  readonly match: string
  /** How often the visit applies; without a limit by default. */
  readonly 'match-limit'?: number
  readonly tasks: readonly Task[]
}

interface Task {
  readonly task: string
  /** Whether to skip the task if the URL does not match. Otherwise, the module fails. */
  readonly optional?: true
  readonly match: string
  readonly commands?: readonly Command[]
}

/** A browser command: `[action, kind of selector, selector, …]`. */
export type Command = readonly (string | number)[]

export interface About {
  readonly baseUrl: string
  readonly settings: Pick<ConformanceSettings, 'suiteBaseUrl' | 'alias' | 'clients'>
  readonly person: { readonly login: string; readonly password: string }
  /** The two clients of a plan with `private_key_jwt`, with their private keys. */
  readonly keyClients?: readonly KeyClient[] | undefined
}

const WAIT_SECONDS = 10

/** Uploads the page as the screenshot that the module waits for. */
const KEEP = 'update-image-placeholder'
/** Like `KEEP`, but does nothing if the module does not wait for a screenshot. */
const KEEP_IF_ASKED = 'update-image-placeholder-optional'

/** Returns the complete configuration of a plan, to be pasted into the suite or sent by `drive.ts`. */
export function configurationOf(plan: PlanName, about: About): SuiteConfiguration {
  const { baseUrl, settings, person } = about
  const { alias } = settings
  const modules = expectedOf(plan)
  const override = Object.entries(overridesOf(about)).filter(([module]) => modules.has(module))
  return {
    alias,
    description: 'Gatehouse',
    server: { discoveryUrl: `${baseUrl}${paths.openidConfiguration}`, login_hint: person.login },
    ...(isKeyed(plan) ? keyClientsOf(plan, about) : clientsOf(plan, about)),
    options: { browsercontrol_css_enable: false },
    browser: [signIn(about), signOut(about)],
    override: Object.fromEntries(override.map(([module, browser]) => [module, { browser }])),
  }
}

/** Whether the clients of this plan authenticate with `private_key_jwt`. */
export function isKeyed(plan: PlanName): boolean {
  return methodOf(plan) === 'private_key_jwt'
}

function methodOf(plan: PlanName): string | undefined {
  const { variant }: Plan = plans[plan]
  return variant['client_auth_type']
}

function clientsOf(plan: PlanName, { settings: { clients } }: About) {
  const client = (id: string): SuiteClient => {
    const { client_id, client_secret } = clients.find((each) => each.client_id === id) ?? {}
    if (client_id === undefined || client_secret === undefined) {
      throw new Error(`config/conformance.json has no client ${id} with a secret.`)
    }
    return { client_id, client_secret }
  }
  const post = client('oidf-post')
  return methodOf(plan) === 'client_secret_post'
    ? { client: post, client2: client('oidf-2') }
    : { client: client('oidf-1'), client2: client('oidf-2'), client_secret_post: post }
}

function keyClientsOf(plan: PlanName, { baseUrl, keyClients = [] }: About) {
  const [client, client2] = keyClients
  if (!client || !client2) {
    throw new Error(
      `The plan ${plan} needs --data: the folder that \`npm run conformance -- serve --for ${plan}\` printed contains the private keys of its clients.`,
    )
  }
  const resource = { resourceUrl: baseUrl + paths.userinfo }
  return { client, client2, ...(serviceOf(plan) === 'fapi2' && { resource }) }
}

/** Returns the browser tasks that replace those of the plan, by module. */
function overridesOf(about: About): Readonly<Record<string, readonly Visit[]>> {
  const twice = [signIn(about, { first: [seen('login-page', 'Sign in', KEEP_IF_ASKED)] })]
  const refused = [errorAt(`${about.baseUrl}${paths.authorization}*`)]
  const logout = `${about.baseUrl}${paths.endSession}*`
  const notSignedOut = [signIn(about), errorAt(logout)]
  const signedOut = [signIn(about), staysAfterSignOut(about)]
  const module = 'oidcc-rp-initiated-logout'
  return {
    'oidcc-prompt-login': twice,
    'oidcc-max-age-1': twice,
    'oidcc-ensure-registered-redirect-uri': refused,
    'oidcc-ensure-request-object-with-redirect-uri': refused,
    'oidcc-redirect-uri-query-added': refused,
    [`${module}-bad-post-logout-redirect-uri`]: notSignedOut,
    [`${module}-query-added-to-post-logout-redirect-uri`]: notSignedOut,
    [`${module}-modified-id-token-hint`]: notSignedOut,
    [`${module}-bad-id-token-hint`]: notSignedOut,
    [`${module}-no-id-token-hint`]: signedOut,
    [`${module}-no-params`]: signedOut,
    [`${module}-no-post-logout-redirect-uri`]: signedOut,
    [`${module}-only-state`]: signedOut,
    ...fapiOverrides('final', about),
    ...fapiOverrides('id2', about),
  }
}

function fapiOverrides(version: string, about: About): Readonly<Record<string, readonly Visit[]>> {
  const fapi = `fapi2-security-profile-${version}`
  return {
    [`${fapi}-user-rejects-authentication`]: [signIn(about, { login: refuse })],
    // This module opens the sign-in page twice. The person signs in the second time.
    [`${fapi}-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds`]: [
      onlyLooks(about),
      signIn(about),
    ],
  }
}

/** The commands on the sign-in page: `first`, then `login`, which signs in by default. */
interface SignInPage {
  readonly first?: readonly Command[]
  readonly login?: readonly Command[]
}

function enter({ person }: About): readonly Command[] {
  return [
    ['text', 'id', 'login', person.login],
    ['text', 'id', 'password', person.password],
    ['click', 'id', 'login-submit'],
  ]
}

const refuse: readonly Command[] = [['click', 'id', 'login-cancel']]

/** Opens the sign-in page once, without signing in. */
function onlyLooks({ baseUrl }: About): Visit {
  return {
    match: `${baseUrl}${paths.authorization}*`,
    'match-limit': 1,
    tasks: [
      {
        task: 'Look',
        match: baseUrl + pages.login.replace(':uid', '*'),
        commands: [['wait', 'id', 'login-page', WAIT_SECONDS]],
      },
    ],
  }
}

/** Signs in and approves, if these pages appear, and waits for the page of the suite. */
function signIn(about: About, { first = [], login = enter(about) }: SignInPage = {}): Visit {
  const { baseUrl, settings } = about
  const { suiteBaseUrl, alias } = settings
  return {
    match: `${baseUrl}${paths.authorization}*`,
    tasks: [
      {
        task: 'Sign in',
        optional: true,
        match: baseUrl + pages.login.replace(':uid', '*'),
        commands: [...first, ...login],
      },
      {
        task: 'Allow',
        optional: true,
        match: baseUrl + pages.consent.replace(':uid', '*'),
        commands: [['click', 'id', 'consent-approve']],
      },
      {
        task: 'Back at the suite',
        match: `${suiteBaseUrl}/test/a/${alias}/callback*`,
        commands: [['wait', 'id', 'submission_complete', WAIT_SECONDS]],
      },
    ],
  }
}

function signOut({ baseUrl, settings }: About): Visit {
  return {
    match: `${baseUrl}${paths.endSession}*`,
    tasks: [
      confirmation(baseUrl),
      {
        task: 'Back at the suite',
        match: `${settings.suiteBaseUrl}/test/a/${settings.alias}/post_logout_redirect*`,
      },
    ],
  }
}

function staysAfterSignOut({ baseUrl }: About): Visit {
  return {
    match: `${baseUrl}${paths.endSession}*`,
    tasks: [
      confirmation(baseUrl),
      {
        task: 'Signed out',
        match: `${baseUrl}${paths.endSession}/success*`,
        commands: [seen('logout-success', 'signed out', KEEP)],
      },
    ],
  }
}

function confirmation(baseUrl: string): Task {
  return {
    task: 'Confirm',
    match: `${baseUrl}${paths.endSession}*`,
    commands: [['click', 'id', 'logout-confirm']],
  }
}

function errorAt(match: string): Visit {
  return {
    match,
    tasks: [{ task: 'Error page', match, commands: [seen('error-page', '.+', KEEP)] }],
  }
}

/** Waits until the element matches the text, and uploads the page for a reviewer. */
function seen(id: string, text: string, keep: string): Command {
  return ['wait', 'id', id, WAIT_SECONDS, text, keep]
}
