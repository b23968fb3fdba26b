import { paths, planPaths } from '../../src/platform/http/paths.ts'
import {
  asClaude,
  asPortal,
  asResourceServer,
  codeChallenge,
  codeVerifier,
} from '../support/client.ts'
import { notes } from '../support/gatehouse.ts'
import { ASSERTION_TYPE } from '../support/proofs.ts'
import { basic } from '../support/wire.ts'
import type { Chance } from './random.ts'
import { type FuzzRequest, headerBytes, place } from './request.ts'
import { chosen, type Entries, formOf, mostly, oddText, opened, posted, SECRET } from './texts.ts'

const scope = [
  ...['openid', 'openid profile email account:read account:write', 'account:read'],
  ...['openid courses:read', 'openid account:read courses:read'],
]
const tokens = (['memberToken', 'operatorToken', 'refreshToken', 'idToken', 'code'] as const).map(
  place,
)
const resource = ['', '/mcp', '/', '/member/graphql'].map((path) => place('url') + path)
const asNotes = { client_id: notes.clientId, redirect_uri: notes.redirectUri }
const asLoopback = { client_id: place('client'), redirect_uri: 'http://127.0.0.1:9/callback' }

export function oauthRequest(chance: Chance): FuzzRequest {
  return chance.pick([
    ...[authorization, authorization, authorization, token, token, token, registration],
    ...[aboutToken, aboutToken, userinfo, pushed, endSession, forwardAuth],
  ])(chance)
}

const required = {
  ...{ response_type: ['code'], scope, resource },
  ...{ code_challenge: [codeChallenge], code_challenge_method: ['S256'] },
}
const optional: Readonly<Record<string, readonly string[]>> = {
  prompt: ['none', 'login', 'consent', 'select_account', 'none login'],
  max_age: ['0', '1', '3600'],
  response_mode: ['query', 'fragment', 'form_post'],
  id_token_hint: [place('idToken')],
  request_uri: [place('requestUri'), 'urn:ietf:params:oauth:request_uri:x'],
  claims: ['{"id_token":{"sub":null}}', '{"userinfo":{"email":{"essential":true}}}'],
  client_secret: [SECRET],
  ...{ nonce: ['x'], login_hint: ['x'], ui_locales: ['x'], acr_values: ['x'], display: ['x'] },
  ...{ request: ['x'], dpop_jkt: ['x'], registration: ['x'] },
}

/** Returns parameters of an authorization request. Most are valid, so that requests reach the pages. */
function authorizationFields(chance: Chance): Entries {
  const odd = chance.pick([0, 0, 0.05, 0.2])
  const { client_id, redirect_uri } = chance.is(0.7)
    ? asNotes
    : chance.pick([asPortal, asClaude, asLoopback])
  const added = Object.entries(optional).filter(() => chance.is(0.08))
  return [
    ...chosen(chance, { ...required, client_id: [client_id], redirect_uri: [redirect_uri] }, odd),
    ['state', chance.is(0.3) ? oddText(chance) : 'x'],
    ...chosen(chance, Object.fromEntries(added), 0.5),
  ]
}

function authorization(chance: Chance): FuzzRequest {
  const query = formOf(chance, authorizationFields(chance))
  const cookies = chance.is(0.6) ? ['Cookie', place('memberSession')] : []
  const headers = ['Accept', 'text/html', ...cookies]
  return chance.is(0.15)
    ? posted(chance, paths.authorization, { body: query, headers })
    : opened(chance, `${paths.authorization}?${query}`, headers)
}

/** Returns fields or a header for client authentication, with valid or wrong values. */
function authentication(chance: Chance): { fields: Entries; headers: readonly string[] } {
  const { client_id, client_secret } = asPortal
  const odd = oddText(chance)
  if (chance.is(0.2)) {
    const headers = ['Authorization', `Basic ${Buffer.from(odd).toString('base64')}`]
    return { fields: [], headers: chance.is(0.5) ? headers : basic(client_id, client_secret) }
  }
  const assertion = {
    client_assertion_type: mostly(chance, [ASSERTION_TYPE]),
    client_assertion: mostly(chance, ['a.b.c', place('idToken')]),
  }
  const fields = chance.pick<Record<string, string>>([
    ...Array(3).fill({ client_id: notes.clientId }),
    { client_id, client_secret },
    asResourceServer,
    { client_id, client_secret: SECRET },
    { client_id: odd, client_secret: odd },
    { client_id, ...assertion },
  ])
  return { fields: Object.entries(fields), headers: [] }
}

function token(chance: Chance): FuzzRequest {
  const { fields, headers } = authentication(chance)
  const odd = chance.pick([0, 0.1, 0.3])
  const { redirectUri } = notes
  const grant = chance.is(0.5)
    ? {
        ...{ grant_type: ['authorization_code'], code: [place('code')], resource },
        ...{ redirect_uri: [redirectUri], code_verifier: [codeVerifier] },
      }
    : {
        ...{ grant_type: ['refresh_token'], refresh_token: [place('refreshToken')] },
        ...(chance.is(0.4) && { scope }),
        ...(chance.is(0.4) && { resource }),
      }
  const body = formOf(chance, [...chosen(chance, grant, odd), ...fields])
  return posted(chance, paths.token, { body, headers })
}

function aboutToken(chance: Chance): FuzzRequest {
  const { fields, headers } = authentication(chance)
  // Revoke only odd values: a valid request would revoke tokens that other requests need.
  const path = chance.is(0.8) ? paths.introspection : paths.revocation
  const about = {
    token: path === paths.revocation ? [oddText(chance)] : tokens,
    token_type_hint: ['access_token', 'refresh_token'],
  }
  const body = formOf(chance, [...chosen(chance, about), ...fields])
  return posted(chance, path, { body, headers })
}

function userinfo(chance: Chance): FuzzRequest {
  const headers = mostlyBearer(chance)
  const form = () => formOf(chance, [['access_token', mostly(chance, tokens)]])
  const path = paths.userinfo + (chance.is(0.1) ? `?${form()}&schema=openid` : '')
  return chance.is(0.3)
    ? posted(chance, path, { body: form(), headers })
    : opened(chance, path, headers)
}

/** Returns an Authorization header, usually a valid one, or no header. */
export function mostlyBearer(chance: Chance, right: string = place('memberToken')): string[] {
  if (chance.is(0.1)) return []
  if (chance.is(0.1)) {
    const odd = headerBytes(oddText(chance))
    const values = [odd, `Bearer ${odd}`, `DPoP ${odd}`, `Basic ${odd}`, 'Bearer', 'bearer  x y']
    return ['Authorization', chance.pick(values)]
  }
  const scheme = chance.is(0.97) ? 'Bearer' : 'DPoP'
  return ['Authorization', `${scheme} ${chance.is(0.85) ? right : chance.pick(tokens)}`]
}

function pushed(chance: Chance): FuzzRequest {
  const { fields, headers } = authentication(chance)
  const asked = authorizationFields(chance).filter(([name]) => name !== 'client_id')
  const body = formOf(chance, [...asked, ...fields])
  return posted(chance, planPaths.pushedAuthorization, { body, headers })
}

const back = 'https://notes.example/signed-out'
const signOut = {
  ...{ id_token_hint: [place('idToken')], client_id: [notes.clientId], state: ['x'] },
  post_logout_redirect_uri: [back],
}

/** Returns a sign-out request without cookies, so that no session ends. */
function endSession(chance: Chance): FuzzRequest {
  const query = formOf(chance, chosen(chance, signOut))
  const headers = ['Accept', 'text/html']
  const path = paths.endSession + chance.pick(['', '', '/confirm', '/success'])
  return chance.is(0.2)
    ? posted(chance, path, { body: query, headers })
    : opened(chance, `${path}?${query}`, headers)
}

function forwardAuth(chance: Chance): FuzzRequest {
  const [, credentials = ''] = basic(asResourceServer.client_id, asResourceServer.client_secret)
  const proxy = ['X-Forward-Auth-Client', chance.is(0.8) ? credentials : 'x']
  const query = chance.is(0.5) ? `?${formOf(chance, chosen(chance, { scope }))}` : ''
  return opened(chance, paths.forwardAuth + query, [...proxy, ...mostlyBearer(chance)])
}

const redirectUris =
  'http://127.0.0.1:9/callback http://localhost/callback https://chatgpt.com/connector/oauth/x'
const registrationFields =
  'application_type token_endpoint_auth_method grant_types response_types scope jwks ' +
  'post_logout_redirect_uris'

function registration(chance: Chance): FuzzRequest {
  const odd = oddText(chance)
  const value = () => chance.pick<unknown>([odd, 1, null, true, [], {}, [odd], { a: { b: odd } }])
  const body: Record<string, unknown> = {
    client_name: chance.is(0.6) ? chance.pick(['A tool', 'Claude', 'Cursor', 'ChatGPT']) : value(),
    redirect_uris: chance.is(0.7) ? [mostly(chance, redirectUris.split(' '))] : value(),
  }
  for (const name of [...registrationFields.split(' '), odd])
    if (chance.is(0.1)) body[name] = value()
  return posted(chance, paths.registration, { json: body, headers: [] })
}
