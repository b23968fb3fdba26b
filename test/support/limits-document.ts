import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type LimitName, limitsInForce, limitTable } from '../../src/platform/limits/limit-table.ts'

/** Where the tables of limits are written: what stands between these lines of a page. */
const BEGIN = '<!-- limits: test/support/limits-document.ts writes this table -->'
const END = '<!-- end of limits -->'

const root = join(import.meta.dirname, '../..')
export const limitPages = ['docs/security.md', 'docs/operations.md'] as const

const operationCost =
  'an operation: 100 and its cost, as its answer says it; 500 for a document that is read anew or is not valid'

/** Where each limit applies, and what one point of it is. */
const explanations: Readonly<Record<LimitName, readonly [at: string, counts: string]>> = {
  authorizations: [
    'authorization requests, pushed ones too, and requests to sign out',
    'a request, once for each kilobyte of it, because it is stored',
  ],
  oauthFailures: [
    'token, revocation, introspection, forward auth (its proxies)',
    'a refusal: 10 for a client that does not authenticate, 2 for a grant, 1 for another',
  ],
  tokenFailures: [
    'UserInfo, both GraphQL APIs, uploads, what is forwarded',
    'a refusal: 3 for a token that is missing or worthless, 1 for another',
  ],
  pagesOfAddress: [
    'sign-in and consent, account, admin, connect, the confirmation of a sign-out',
    'a page or a form',
  ],
  downloads: ['downloads and logos', 'a file, ten times for a link that leads nowhere'],
  requestsOfClient: [
    'token, revocation, introspection',
    'a request of a client that authenticated, 5 times for one that was refused',
  ],
  unknownTokens: ['introspection', 'an introspection of a value that was never issued'],
  guardedRequests: ['forward auth', 'a request of a proxy that authenticated'],
  refreshes: ['token', 'a refresh of a grant'],
  userinfo: ['UserInfo', 'a request'],
  memberApi: ['the Member API', operationCost],
  adminApi: ['the Admin API', operationCost],
  changes: [
    'the Admin API, and the tools over it',
    'a change that is asked for, by whichever client: each leaves a line in the audit trail',
  ],
  uploads: ['uploads', 'a file'],
  forwarded: ['what is forwarded', 'a request'],
  pagesOfPerson: ['account, admin', 'a page, a form or a query that is tried'],
  toolsOfAddress: ['the tool endpoint', 'a request'],
  toolsOfCaller: ['the tool endpoint', 'a request'],
  registrations: ['registration', 'a registration'],
  attemptsOfAddress: ['sign-in', 'a failed sign-in, of whichever account'],
  attemptsOfPair: ['sign-in', 'a failed sign-in of one account from one network'],
  attemptsOfAccount: [
    'sign-in',
    'a failed sign-in of one account in browsers that nobody signed in with before',
  ],
  attemptsFromAfar: [
    'sign-in, when the account has no attempts left',
    'a failed sign-in of one account from one wide network (IPv4 /24, IPv6 /48)',
  ],
  reservedAttempts: [
    'sign-in',
    'a sign-in of one account from a network without failures, after its attempts are used up',
  ],
  attemptsOfBrowser: [
    'sign-in',
    'a failed sign-in in a browser in which the account was signed in before',
  ],
  signIns: ['sign-in', 'a sign-in, which costs as much as a failed one'],
}

/** The table of every limit of requests, with the figures of config/service.json. */
function renderLimits(policy: object): string {
  const inForce = limitsInForce(policy)
  const rows = Object.entries(limitTable).map(([name, { by, setting }]) => {
    const { max, windowSeconds } = inForce[name as LimitName]
    const [at, counts] = explanations[name as LimitName]
    return `| \`${name}\` | ${by} | ${at} | ${counts} | ${max} in ${windowSeconds} s | \`${setting}\` |`
  })
  return [
    '| limit | of each | at | one point is | at most | setting |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

/** A page with the table as it is now. */
export function withLimits(page: string, policy: object): string {
  const [before, rest = ''] = page.split(`${BEGIN}\n`)
  const [, after = ''] = rest.split(END)
  return `${before}${BEGIN}\n\n${renderLimits(policy)}\n\n${END}${after}`
}

if (import.meta.main) {
  const policy = JSON.parse(readFileSync(join(root, 'config/service.json'), 'utf8'))
  for (const name of limitPages) {
    const file = join(root, name)
    writeFileSync(file, withLimits(readFileSync(file, 'utf8'), policy))
  }
}
