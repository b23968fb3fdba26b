import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../src/api/graphql/connections.ts'
import { ANSWER_LENGTH_MAX } from '../../src/api/mcp/call-tool.ts'
import { type LimitName, limitsInForce, limitTable } from '../../src/platform/limits/limit-table.ts'
import { fillFigures, renderNumber } from './figures.ts'
import { code, page, renderTable } from './markdown.ts'
import { limitRows } from './reference-data.ts'
import { defaultsInForce } from './strangers-document.ts'

const introduction = `Limits at the default configuration. A field of \`config/service.json\` is named where it changes the limit
([settings](settings.md)).`

const requestsIntroduction = `A request beyond a limit is answered 429 with \`Retry-After\` and \`RateLimit\`. All processes count together on Redis or
PostgreSQL, all workers of a host on the embedded database. An IPv6 /64 counts as one address. Clients and people count
after authentication only. Raise \`limits.*PerPersonMax\` for an integration with more legitimate requests, and
\`limits.*PerAddressMax\` where very many people share one address. Behind a balancer set \`TRUST_PROXY=yes\`, or all callers
count as one address.`

const operationCost =
  '100 and the cost of the operation, as its answer reports; 500 for a document that is parsed anew or invalid'

/** Where each limit applies, and what one point of it is. */
const explanations: Readonly<Record<LimitName, readonly [at: string, counts: string]>> = {
  authorizations: [
    'authorization requests, pushed ones too, and sign-out requests',
    'a kilobyte of a request, because requests are stored',
  ],
  oauthFailures: [
    'token, revocation, introspection, forward auth (proxies)',
    'an error: 10 for a failed client authentication, 2 for a grant, 1 for another',
  ],
  tokenFailures: [
    'UserInfo, both GraphQL APIs, uploads, upstreams',
    'an error: 3 for a missing or invalid token, 1 for another',
  ],
  verifications: [
    'wherever the two limits above apply, once they are used up: valid credentials pass, and only they',
    'as above, for each invalid credential; beyond this limit, valid ones wait, too',
  ],
  pagesOfAddress: ['sign-in, consent, account, admin, connect, sign-out', 'a page or a form'],
  downloads: ['downloads and logos', 'a file; 10 for an invalid link'],
  requestsOfClient: [
    'token, revocation, introspection',
    'a request of an authenticated client; 5 for a refused one',
  ],
  unknownTokens: ['introspection', 'an introspection of a value that was never issued'],
  guardedRequests: ['forward auth', 'a request of an authenticated proxy'],
  refreshes: ['token', 'a refresh of a grant'],
  userinfo: ['UserInfo', 'a request'],
  memberApi: ['Member API', operationCost],
  adminApi: ['Admin API', operationCost],
  changes: ['Admin API and its tools', 'a requested change, by any client'],
  uploads: ['uploads', 'a file'],
  forwarded: ['upstreams', 'a request'],
  pagesOfPerson: ['account, admin', 'a page, a form or a tried query'],
  toolsOfAddress: ['tool endpoint', 'a request'],
  toolsOfCaller: ['tool endpoint', 'a request'],
  registrations: ['registration', 'a registration'],
  attemptsOfAddress: ['sign-in', 'a failed sign-in of any account'],
  attemptsOfPair: ['sign-in', 'a failed sign-in of one account from one network'],
  attemptsOfAccount: ['sign-in', 'a failed sign-in of one account in unknown browsers'],
  attemptsFromAfar: [
    'sign-in, after the account has no attempts left',
    'a failed sign-in of one account from one wide network (IPv4 /24, IPv6 /48)',
  ],
  reservedAttempts: [
    'sign-in, after the account has no attempts left',
    'a sign-in of one account from a network without failures',
  ],
  attemptsOfBrowser: [
    'sign-in',
    'a failed sign-in in a browser that signed in to the account before',
  ],
  signIns: ['sign-in', 'a sign-in, which costs as much as a failed one'],
}

/** docs/reference/limits.md, from the table of limits, test/data/limits.txt and config/service.json. */
export function renderLimits(): string {
  const inForce = limitsInForce(defaultsInForce().service)
  const requests = Object.entries(limitTable).map(([name, { by, setting }]) => {
    const { max, windowSeconds } = inForce[name as LimitName]
    const number = `${renderNumber(max)} in ${windowSeconds} s`
    return [code(name), by, ...explanations[name as LimitName], number, code(setting)]
  })
  const pageSizes = `${PAGE_SIZE_MAX}, ${PAGE_SIZE_DEFAULT} by default`
  const others = [
    ...limitRows.map((row) => row.map(fillFigures)),
    ['Elements of one page (`first`) in GraphQL and tools', pageSizes, 'code'],
    ['Answer of a tool', `${renderNumber(ANSWER_LENGTH_MAX)} characters`, 'code'],
  ]
  return page(
    introduction,
    '## Requests',
    requestsIntroduction,
    renderTable(['limit', 'per', 'where', 'one point is', 'maximum', 'setting'], requests),
    '## Sizes and times',
    renderTable(['what', 'limit', 'setting'], others),
  )
}
