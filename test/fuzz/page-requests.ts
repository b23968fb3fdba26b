import { addressOf, enginePages, pages, paths } from '../../src/platform/http/paths.ts'
import { asPortal } from '../support/client.ts'
import type { Chance } from './random.ts'
import { bytesOf, type FuzzRequest, type Given, percentOf, place } from './request.ts'
import {
  damaged,
  formOf,
  furtherHeaders,
  mostly,
  oddText,
  opened,
  posted,
  SECRET,
} from './texts.ts'

const addresses = [...Object.values(pages), ...Object.values(enginePages)]

const sites = 'open-kitchen open-kitchen sit_open_kitchen northlight constructor ..'.split(' ')

/** Returns a request to a page or form. A member sends no valid form, because a form may end the session. */
export function pageRequest(chance: Chance): FuzzRequest {
  if (chance.is(0.25)) return interactionRequest(chance)
  const pattern = chance.pick(addresses)
  const path = chance.is(0.03) ? damaged(chance, pathOf(chance, pattern)) : pathOf(chance, pattern)
  const who = chance.is(0.75) ? 'operator' : chance.pick(['member', 'nobody'] as const)
  const session = who === 'nobody' ? [] : ['Cookie', place(`${who}Session` as Given)]
  const headers = ['Accept', 'text/html', ...session]
  if (chance.is(0.55)) {
    const parameters = {
      after: mostly(chance, [place('cursor')], 0.6),
      ...{ error: oddText(chance), state: oddText(chance), code: place('code') },
    }
    const query = chance.is(0.3) ? `?${formOf(chance, Object.entries(parameters))}` : ''
    return opened(chance, targetOf(path) + query, headers)
  }
  const form = who === 'nobody' ? oddText(chance) : place(`${who}Form` as Given)
  // Authorization and token requests need the member's session, so the member must not sign out.
  const token = who === 'member' ? oddText(chance) : mostly(chance, [form], 0.1)
  const body = formOf(chance, [['csrf', token], ...formFields(chance)])
  return posted(chance, targetOf(path), { body, headers })
}

function interactionRequest(chance: Chance): FuzzRequest {
  const steps = ['login', 'login', 'consent', 'consent', 'select_account']
  const step = chance.pick([...steps, oddText(chance).slice(0, 50)])
  const uid = chance.is(0.9)
    ? place('interaction')
    : encodeURIComponent(oddText(chance).toWellFormed())
  const path = targetOf(`/interaction/${uid}/${step}${chance.is(0.1) ? '/cancel' : ''}`)
  const cookie = chance.is(0.85) ? ['Cookie', place('interactionCookie')] : []
  const headers = ['Accept', 'text/html', ...cookie]
  if (chance.is(0.5)) return opened(chance, path, headers)
  const body = formOf(chance, [
    ['csrf', mostly(chance, [place('interactionForm')], 0.15)],
    // Usually send no password, because hashing one takes a long time.
    ['login', oddText(chance)],
    ['password', chance.is(0.2) ? SECRET : ''],
    ['site', mostly(chance, ['sit_northlight', 'sit_open_kitchen'])],
    ['scope', oddText(chance)],
  ])
  return posted(chance, path, { body, headers })
}

const assets = ['style.css', 'x', '..%2f..%2fpackage.json', 'page.js', 'colors.css']

function pathOf(chance: Chance, pattern: string): string {
  const odd = () => oddText(chance).toWellFormed()
  return addressOf(pattern, {
    site: mostly(chance, sites, 0.1).toWellFormed(),
    client: mostly(chance, [place('client'), 'northlight-portal', 'x'], 0.2).toWellFormed(),
    person: mostly(chance, ['per_june', 'per_marco']).toWellFormed(),
    file: chance.pick(assets),
    ...{ uid: odd(), token: odd(), name: odd(), secret: odd(), digest: odd() },
  })
    .replaceAll('%40%7B', '@{')
    .replaceAll('%7D', '}')
}

function targetOf(path: string): string {
  const target = bytesOf(path).replaceAll(/[\0-\x20\x7f-\xff]/g, percentOf)
  return target.startsWith('/') ? target : `/${target}`
}

const fieldNames = [
  ...['name', 'redirect_uris', 'auth_method', 'scope', 'site', 'assistant', 'client', 'client_id'],
  ...['fingerprint', 'query', 'variables', 'application_type', 'post_logout_redirect_uris', 'jwks'],
  ...['jwks_uri', 'logout', 'backchannel_logout_uri', 'days', 'note', 'confirm', 'terms'],
  ...['further', 'xsrf', 'password'],
]

function formFields(chance: Chance): [string, string][] {
  const fields = chance.many(7, (): [string, string] => [chance.pick(fieldNames), oddText(chance)])
  if (chance.is(0.5)) {
    fields.push(
      ['name', mostly(chance, ['Fuzz'])],
      ['redirect_uris', mostly(chance, ['https://fuzz.example/callback'])],
      ['auth_method', mostly(chance, ['none', 'client_secret_post'])],
      ['scope', mostly(chance, ['account:read'])],
    )
  }
  if (chance.is(0.2)) fields.push(['client', asPortal.client_id])
  return fields
}

export function addressRequest(chance: Chance): FuzzRequest {
  const path = pathOf(chance, chance.pick([...Object.values(paths), ...addresses]))
  const spelled = chance.pick([
    ...[path, path, `${path}/`, `/${path}`, path.toUpperCase(), path.replace('/', '/./')],
    ...[`${path}/..;/x`, `${path}%00`, `${path}?${oddText(chance)}`, `${path}#${oddText(chance)}`],
    ...[`/${oddText(chance)}`, path.replaceAll('/', '%2f'), `http://evil.example${path}`],
  ])
  const target = spelled.startsWith('http')
    ? `http:/${targetOf(spelled.slice(6))}`
    : targetOf(spelled)
  return {
    method: chance.pick(methods),
    path: target.slice(0, 12_000),
    headers: furtherHeaders(chance),
  }
}

const methods = 'GET GET GET HEAD OPTIONS POST PUT PATCH DELETE TRACE PROPFIND'.split(' ')
