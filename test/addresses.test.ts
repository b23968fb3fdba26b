import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { SELF_SIGN_UP } from '../src/directory/sites/site-admin.ts'
import { forwardAuthFor, pages, takenSlugs, toolPaths } from '../src/platform/http/paths.ts'
import { insert } from './support/database.ts'
import { everyPattern, mailFile, someAddress } from './support/every-address.ts'
import { policyWith } from './support/gatehouse.ts'
import { everyPlan, makeClientKey } from './support/proofs.ts'
import { sharedService } from './support/storages.ts'
import { mapping } from './support/upstream.ts'

const patterns = everyPattern.filter((pattern) => !pattern.startsWith(forwardAuthFor))

const { publicJwk } = await makeClientKey()

describe('every address of the table', () => {
  // Each of these settings adds paths. Requests without a token never reach the upstream.
  const service = sharedService({
    policy: policyWith({
      metadataDocuments: { sources: [], openRegistration: true },
      upstreams: mapping(1),
      furtherPlans: everyPlan,
      platformKeys: { keys: [publicJwk] } as object,
    }),
  })

  before(async () => {
    const folder = join(service().config.dataDir, 'mail')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, mailFile), 'Subject: Hello\n\nHello\n')
    const feature = { site_id: 'sit_northlight', feature: SELF_SIGN_UP, enabled_at: 1 }
    await insert(service().kysely, 'site_feature', feature)
  })

  const statuses = async (address: string) =>
    await Promise.all(
      (['GET', 'POST'] as const).map(async (method) => {
        const response = await fetch(service().url + address, { method, redirect: 'manual' })
        await response.body?.cancel()
        return response.status
      }),
    )

  for (const pattern of patterns) {
    it(`${pattern} is served in one spelling only (decision 3)`, async () => {
      expect((await statuses(someAddress(pattern))).some((status) => status !== 404)).to.equal(true)
      for (const address of otherSpellings(pattern))
        expect(await statuses(address), address).to.deep.equal([404, 404])
    })
  }
})

it('the reserved names of sites are those that follow /admin/ in another address', () => {
  expect([...takenSlugs]).to.include.members(['graphql', 'schema.graphql', 'api'])
  for (const slug of takenSlugs)
    expect(patterns.some((pattern) => pattern.startsWith(`/admin/${slug}`))).to.equal(true)
})

/** Returns other spellings of a path: one or all segments in upper case, or a trailing slash. Keeps parameters. */
function otherSpellings(pattern: string): string[] {
  if (pattern === pages.welcome) return []
  const segments = pattern.split('/')
  const shout = (segment: string) => (segment.startsWith(':') ? segment : segment.toUpperCase())
  const shouted = [
    segments.map(shout),
    ...segments.map((segment, chosen) => segments.with(chosen, shout(segment))),
  ].map((each) => each.join('/'))
  // The tool endpoints are also served with a trailing slash.
  const slashed = toolPaths.some((path) => path === pattern) ? [] : [`${pattern}/`]
  return [...new Set([...slashed, ...shouted])]
    .filter((spelling) => !patterns.some((other) => covers(other, spelling)))
    .map(someAddress)
}

/** Whether a pattern matches an address, as `/applications/:client` matches `/applications/NEW`. */
function covers(pattern: string, address: string): boolean {
  const names = pattern.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')
  return new RegExp(`^${names}$`).test(address)
}
