import { expect } from 'chai'

import { MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import type { Client } from '../src/oauth/clients/client.ts'
import { adviseScopes } from '../src/oauth/clients/scope-advice.ts'

const baseUrl = 'https://id.campus.example'

const client = {
  clientId: 'a-client',
  name: 'A client',
  redirectUris: ['http://127.0.0.1/callback'],
  authMethod: 'none',
  applicationType: 'native',
  state: 'active',
} as const

const ofSite: Client = { ...client, origin: 'site', siteId: 'sit_one' }
const readingOnly: Client = { ...ofSite, chosenScopes: [MEMBER_READ] }
const loopback: Client = { ...client, origin: 'loopback' }
const platform: Client = { ...client, origin: 'integration' }
const document = { fingerprint: 'one', reviewed: false, mayWriteSomewhere: false }
const unreviewed: Client = { ...client, origin: 'document', document }
const reviewed: Client = {
  ...client,
  origin: 'document',
  document: { ...document, reviewed: true, mayWriteSomewhere: true },
}

interface Row {
  readonly of: Client
  readonly held?: readonly string[]
  readonly needed: readonly string[]
  readonly oneIsEnough?: boolean
  /** What it is told to ask for, or a part of what the person does. */
  readonly told: readonly string[] | string
}

const rows: readonly Row[] = [
  { of: ofSite, needed: [MEMBER_READ], told: [MEMBER_READ] },
  {
    of: ofSite,
    held: ['openid', MEMBER_READ],
    needed: [MEMBER_WRITE],
    told: ['openid', MEMBER_READ, MEMBER_WRITE],
  },
  { of: readingOnly, needed: [MEMBER_READ, MEMBER_WRITE], oneIsEnough: true, told: [MEMBER_READ] },
  { of: readingOnly, needed: [MEMBER_READ, MEMBER_WRITE], told: 'can add it to this application' },
  // What was taken from the application since is not asked for again.
  { of: readingOnly, held: [MEMBER_WRITE], needed: [MEMBER_READ], told: [MEMBER_READ] },
  { of: ofSite, needed: ['courses:read'], told: `${baseUrl}/mcp/admin` },
  { of: loopback, needed: [MEMBER_READ], told: `${baseUrl}/connect` },
  {
    of: platform,
    needed: [MEMBER_READ, MEMBER_WRITE],
    oneIsEnough: true,
    told: `${baseUrl}/connect`,
  },
  {
    of: loopback,
    held: ['courses:read'],
    needed: ['courses:write'],
    told: ['courses:read', 'courses:write'],
  },
  { of: unreviewed, needed: ['courses:read'], told: ['courses:read'] },
  { of: unreviewed, needed: ['courses:write'], told: 'must first approve this client' },
  { of: reviewed, needed: ['courses:write'], told: ['courses:write'] },
  { of: { ...client, origin: 'resource_server' }, needed: ['courses:read'], told: 'cannot get it' },
]

describe('what a challenge names [design 23]', () => {
  for (const { of, held = [], needed, oneIsEnough = false, told } of rows) {
    const has = held.join(' ') || 'nothing'
    it(`${of.origin} client with ${has}, where ${oneIsEnough ? 'one of ' : ''}${needed.join(' ')} is needed`, () => {
      const advice = adviseScopes(of, { needed, held, oneIsEnough }, baseUrl)
      if (typeof told === 'string') {
        expect(advice.scopes).to.deep.equal([])
        expect(advice.remedy).to.include(told)
      } else {
        expect(advice).to.deep.equal({ scopes: told })
      }
    })
  }
})
