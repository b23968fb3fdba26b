import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../src/api/graphql/connections.ts'
import { ANSWER_LENGTH_MAX } from '../../src/api/mcp/call-tool.ts'
import { type LimitName, limitsInForce, limitTable } from '../../src/platform/limits/limit-table.ts'
import { fillFigures, renderNumber } from './figures.ts'
import { code, page, renderTable } from './markdown.ts'
import { limitRows } from './reference-data.ts'
import { defaultsInForce } from './strangers-document.ts'

const introduction = `Limits with the default configuration. The last column names the field of \`config/service.json\` that changes a limit
([settings](settings.md)); *code* means that no field does.`

const requestsIntroduction = `A request above a limit gets a 429 response with \`Retry-After\` and \`RateLimit\`. With Redis or PostgreSQL, all processes
share the counts; otherwise, all workers of a host do. An IPv6 /64 counts as one address. Requests count for a client or
person only after authentication. Raise \`limits.*PerPersonMax\` for an integration with more legitimate requests, and
\`limits.*PerAddressMax\` if a large number of people share one address. Behind a load balancer, set \`TRUST_PROXY=yes\`;
otherwise, all callers count as one address.`

const operationCost =
  '100 plus the cost of the operation, as reported in the response; 500 for an invalid document, or one that is not cached'

const explanations: Readonly<Record<LimitName, readonly [at: string, counts: string]>> = {
  authorizations: [
    'authorization requests, pushed ones too, and sign-out requests',
    'a kilobyte of a stored request',
  ],
  oauthFailures: [
    'token, revocation, introspection, forward auth (proxies)',
    'an error: 10 for a failed client authentication, 2 for a rejected grant, 1 for any other',
  ],
  tokenFailures: [
    'UserInfo, both GraphQL APIs, uploads, upstreams, tool endpoint (with a token)',
    'an error: 3 for a missing or invalid token, 1 for any other',
  ],
  verifications: [
    'the paths of the two limits above, after these are reached: only requests with valid credentials are accepted',
    'as above, for invalid credentials; above this limit, valid ones are rejected too',
  ],
  recoveriesOfAddress: ['password recovery', 'a request for a mail'],
  recoveriesOfAccount: [
    'password recovery',
    'a request from one network for a mail to one address',
  ],
  signUpsOfAddress: ['self sign-up', 'a request for a mail'],
  signUpsOfAccount: ['self sign-up', 'a request for a mail to one address'],
  signUpsOfSite: ['self sign-up', 'a request for a mail, at one site'],
  pagesOfAddress: ['sign-in, consent, account, admin, connect, sign-out', 'a page or a form'],
  downloads: ['downloads and logos', 'a file; 10 for an invalid link'],
  requestsOfClient: [
    'token, revocation, introspection',
    'a request of an authenticated client; 5 for a rejected one',
  ],
  unknownTokens: ['introspection', 'an introspection of a token that was never issued'],
  guardedRequests: ['forward auth', 'a request of an authenticated proxy'],
  refreshes: ['token', 'a refresh of a grant'],
  userinfo: ['UserInfo', 'a request'],
  memberApi: ['Member API', operationCost],
  adminApi: ['Admin API', operationCost],
  changes: ['Admin API and its tools', 'a requested change, by any client'],
  uploads: ['uploads', 'a file'],
  forwarded: ['upstreams', 'a request'],
  pagesOfPerson: ['account, admin', 'a page, a form, or a query on the query page'],
  toolsOfAddress: ['tool endpoint', 'a request without a token'],
  toolsOfCaller: ['tool endpoint', 'a request'],
  registrations: ['registration', 'a registration'],
  attemptsOfAddress: ['sign-in', 'a failed sign-in of any account'],
  attemptsOfPair: ['sign-in', 'a failed sign-in of one account from one network'],
  attemptsOfAccount: ['sign-in', 'a failed sign-in of one account in unknown browsers'],
  attemptsFromAfar: [
    'sign-in, after the account has no attempts left',
    'a failed sign-in of one account from one IPv4 /24 or IPv6 /48',
  ],
  reservedAttempts: [
    'sign-in, after the account has no attempts left',
    'a sign-in of one account from a network without failures',
  ],
  attemptsOfBrowser: [
    'sign-in',
    'a failed sign-in in a browser that signed in to the account before',
  ],
  mails: ['mail', 'a message of one kind to one address; a message above the limit is dropped'],
  mailNotices: ['mail about a sign-in in a new browser, or about a new app', 'as above'],
  signIns: ['sign-in', 'a successful sign-in'],
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
    ['Elements of a page (`first`) in GraphQL and tools', pageSizes, 'code'],
    ['Result of a tool', `${renderNumber(ANSWER_LENGTH_MAX)} characters`, 'code'],
  ]
  return page(
    introduction,
    '## Requests',
    requestsIntroduction,
    renderTable(['limit', 'per', 'where', 'what counts as one', 'maximum', 'setting'], requests),
    '## Sizes and times',
    renderTable(['what', 'limit', 'setting'], others),
  )
}
