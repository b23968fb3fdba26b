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
import type { Chance } from './chance.ts'
import { type FuzzRequest, headerBytes, place } from './request.ts'
import { bodyHeaders, damaged, formOf, furtherHeaders, mostly, oddText, SECRET } from './texts.ts'

type Fields = (readonly [name: string, value: string])[]

const scopes = [
  ...['openid', 'openid profile email account:read account:write', 'account:read'],
  ...['openid courses:read', 'openid account:read courses:read'],
]
const tokens = (['memberToken', 'operatorToken', 'refreshToken', 'idToken', 'code'] as const).map(
  place,
)
const resources = ['', '/mcp', '/', '/member/graphql'].map((path) => place('url') + path)
const asNotes = { client_id: notes.clientId, redirect_uri: notes.redirectUri }
const asLoopback = { client_id: place('client'), redirect_uri: 'http://127.0.0.1:9/callback' }

export function oauthRequest(chance: Chance): FuzzRequest {
  const make = chance.pick([
    ...[authorization, authorization, authorization, token, token, token, registration],
    ...[aboutToken, aboutToken, userinfo, pushed, endSession, forwardAuth],
  ])
  return make(chance)
}

/** Parameters of an authorization request; most are valid, so that requests reach the pages. */
function authorizationFields(chance: Chance): Fields {
  const odd = chance.pick([0, 0, 0.05, 0.2])
  const client = chance.is(0.7) ? asNotes : chance.pick([asPortal, asClaude, asLoopback])
  const fields: Fields = [
    ['response_type', mostly(chance, ['code'], odd)],
    ['client_id', mostly(chance, [client.client_id], odd)],
    ['redirect_uri', mostly(chance, [client.redirect_uri], odd)],
    ['scope', mostly(chance, scopes, odd)],
    ['resource', mostly(chance, resources, odd)],
    ['code_challenge', mostly(chance, [codeChallenge], odd)],
    ['code_challenge_method', mostly(chance, ['S256'], odd)],
    ['state', chance.is(0.3) ? oddText(chance) : 'x'],
  ]
  for (const name of [...known.keys(), ...unknown]) {
    if (chance.is(0.08)) fields.push([name, mostly(chance, known.get(name) ?? ['x'], 0.5)])
  }
  return fields
}

const known = new Map(
  Object.entries({
    prompt: ['none', 'login', 'consent', 'select_account', 'none login'],
    max_age: ['0', '1', '3600'],
    response_mode: ['query', 'fragment', 'form_post'],
    id_token_hint: [place('idToken')],
    request_uri: [place('requestUri'), 'urn:ietf:params:oauth:request_uri:x'],
    claims: ['{"id_token":{"sub":null}}', '{"userinfo":{"email":{"essential":true}}}'],
    client_secret: [SECRET],
  }),
)
const unknown = [
  ...['nonce', 'login_hint', 'ui_locales', 'acr_values', 'display', 'request', 'dpop_jkt'],
  'registration',
]

function authorization(chance: Chance): FuzzRequest {
  const query = formOf(chance, authorizationFields(chance))
  const cookies = chance.is(0.6) ? ['Cookie', place('memberSession')] : []
  const headers = ['Accept', 'text/html', ...cookies, ...furtherHeaders(chance)]
  if (chance.is(0.15)) return posted(chance, paths.authorization, { body: query, headers })
  return {
    method: chance.is(0.97) ? 'GET' : chance.pick(['HEAD', 'PUT', 'OPTIONS', 'DELETE']),
    path: `${paths.authorization}?${query}`,
    headers,
  }
}

function authentication(chance: Chance): { fields: Fields; headers: string[] } {
  const { client_id: portal, client_secret: secret } = asPortal
  const posted = (client_id: string, client_secret: string) => ({
    fields: Object.entries({ client_id, client_secret }),
    headers: [],
  })
  const basic = (pair: string) => ({
    fields: [],
    headers: ['Authorization', `Basic ${Buffer.from(pair).toString('base64')}`],
  })
  const open = () => ({ fields: Object.entries({ client_id: notes.clientId }), headers: [] })
  return chance.pick<() => { fields: Fields; headers: string[] }>([
    ...[open, open, open],
    () => posted(portal, secret),
    () => posted(asResourceServer.client_id, asResourceServer.client_secret),
    () => basic(`${portal}:${secret}`),
    () => posted(portal, SECRET),
    () => basic(oddText(chance)),
    () => posted(oddText(chance), oddText(chance)),
    () => ({
      fields: Object.entries({
        client_id: portal,
        client_assertion_type: mostly(chance, [ASSERTION_TYPE]),
        client_assertion: mostly(chance, ['a.b.c', place('idToken')]),
      }),
      headers: [],
    }),
  ])()
}

function token(chance: Chance): FuzzRequest {
  const { fields, headers } = authentication(chance)
  const odd = chance.pick([0, 0.1, 0.3])
  const grant = chance.is(0.5)
    ? {
        grant_type: mostly(chance, ['authorization_code'], odd),
        code: mostly(chance, [place('code')], odd),
        redirect_uri: mostly(chance, [notes.redirectUri], odd),
        code_verifier: mostly(chance, [codeVerifier], odd),
        resource: mostly(chance, resources, odd),
      }
    : {
        grant_type: mostly(chance, ['refresh_token'], odd),
        refresh_token: mostly(chance, [place('refreshToken')], odd),
        ...(chance.is(0.4) && { scope: mostly(chance, scopes) }),
        ...(chance.is(0.4) && { resource: mostly(chance, resources) }),
      }
  const body = formOf(chance, [...Object.entries(grant), ...fields])
  return posted(chance, paths.token, { body, headers })
}

function aboutToken(chance: Chance): FuzzRequest {
  const { fields, headers } = authentication(chance)
  // A valid revocation would end tokens that other requests need.
  const path = chance.is(0.8) ? paths.introspection : paths.revocation
  const value = path === paths.revocation ? oddText(chance) : mostly(chance, tokens)
  const body = formOf(chance, [
    ['token', value],
    ['token_type_hint', mostly(chance, ['access_token', 'refresh_token'])],
    ...fields,
  ])
  return posted(chance, path, { body, headers })
}

function userinfo(chance: Chance): FuzzRequest {
  const headers = [...mostlyBearer(chance), ...furtherHeaders(chance)]
  const form = () => formOf(chance, [['access_token', mostly(chance, tokens)]])
  const query = chance.is(0.1) ? `?${form()}&schema=openid` : ''
  if (chance.is(0.3)) return posted(chance, paths.userinfo + query, { body: form(), headers })
  return {
    method: chance.is(0.95) ? 'GET' : chance.pick(['HEAD', 'PUT', 'DELETE', 'OPTIONS']),
    path: paths.userinfo + query,
    headers,
  }
}

/** Returns an Authorization header, which is usually valid. */
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
  const body = formOf(chance, [
    ...authorizationFields(chance).filter(([name]) => name !== 'client_id'),
    ...fields,
  ])
  return posted(chance, planPaths.pushedAuthorization, { body, headers })
}

function endSession(chance: Chance): FuzzRequest {
  const query = formOf(chance, [
    ['id_token_hint', mostly(chance, [place('idToken')])],
    ['client_id', mostly(chance, [notes.clientId])],
    ['post_logout_redirect_uri', mostly(chance, ['https://notes.example/signed-out'])],
    ['state', oddText(chance)],
  ])
  // Send no cookie, so that no session ends.
  const form = { body: query, headers: ['Accept', 'text/html'] }
  if (chance.is(0.2))
    return posted(chance, paths.endSession + chance.pick(['', '/confirm', '/success']), form)
  return {
    method: 'GET',
    path: `${paths.endSession}${chance.pick(['', '', '/success'])}?${query}`,
    headers: ['Accept', 'text/html', ...furtherHeaders(chance)],
  }
}

function forwardAuth(chance: Chance): FuzzRequest {
  const credentials = btoa(`${asResourceServer.client_id}:${asResourceServer.client_secret}`)
  const proxy = ['X-Forward-Auth-Client', chance.is(0.8) ? `Basic ${credentials}` : 'x']
  const query = chance.is(0.5) ? `?${formOf(chance, [['scope', mostly(chance, scopes)]])}` : ''
  return {
    method: chance.pick(['GET', 'POST', 'HEAD', 'PUT']),
    path: `${paths.forwardAuth}${query}`,
    headers: [...proxy, ...mostlyBearer(chance), ...furtherHeaders(chance)],
  }
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
  const text = Buffer.from(JSON.stringify(body)).toString('latin1')
  return {
    method: chance.is(0.96) ? 'POST' : chance.pick(['GET', 'OPTIONS', 'PUT']),
    path: paths.registration,
    headers: [...bodyHeaders(chance, 'application/json'), ...furtherHeaders(chance)],
    body: chance.is(0.2) ? damaged(chance, text) : text,
  }
}

export function posted(
  chance: Chance,
  path: string,
  { body, headers }: { body: string; headers: readonly string[] },
): FuzzRequest {
  const others = ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
  const type = bodyHeaders(chance, 'application/x-www-form-urlencoded')
  return {
    method: chance.is(0.97) ? 'POST' : chance.pick(others),
    path,
    headers: [...type, ...headers, ...furtherHeaders(chance)],
    body: chance.is(0.05) ? damaged(chance, body) : body,
  }
}
