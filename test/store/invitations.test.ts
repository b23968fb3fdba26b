import type { CompiledQuery } from 'kysely'

import { createLink, makeOneTimeLinks } from '../../src/directory/people/one-time-links.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import type { SiteActor } from '../../src/school/changes/change.ts'
import { makeInvitations } from '../../src/school/members/invitations.ts'
import { patiently, rowsOf, watched, withEveryDatabase } from '../support/database.ts'
import { importRecords } from '../support/import.ts'
import { race } from '../support/programs.ts'

const createdAt = '2026-01-01T00:00:00Z'
const MAX = 5
const nowMs = Date.parse('2026-06-01T00:00:00Z')
const actor: SiteActor = {
  ...{ personId: 'per_olivia', siteId: 'sit_a', clientId: 'client', requestId: 'r', now: nowMs },
}
const person = (name: string, more: object = {}) => ({
  ...{ type: 'person', id: `per_${name}`, name, email: `${name}@home.example`, createdAt, ...more },
})
const records = [
  { type: 'site', id: 'sit_a', slug: 'a', name: 'A', createdAt },
  person('olivia', { roles: [{ site: 'sit_a', role: 'owner', grantedAt: createdAt }] }),
  person('june'),
]

withEveryDatabase('invitations', (open, newPlace) => {
  it('run the same statements for known and unknown addresses [204]', async () => {
    await using database = await open()
    await importRecords(database, records)
    const asked = []
    // Compiled statements are recorded only at compilation, so the first invitation is not compared.
    for (const name of ['first', 'june', 'unknown']) {
      const statements: CompiledQuery[] = []
      const invited = { email: `${name}@home.example`, roles: ['student' as const] }
      await makeInvitations(MAX).invite(watched(database, statements), actor, invited)
      asked.push(statements.map((statement) => statement.sql))
    }
    expect(asked[1]).to.have.length.above(4).and.deep.equal(asked[2])
    expect(asked.flat().filter((each) => /"person".*email_canonical/.test(each))).to.deep.equal([])
  })

  it('of two concurrent processes do not exceed the limit [208]', async () => {
    await using place = await newPlace()
    await using shared = await openDatabase(place.location, patiently)
    await importRecords(shared, records)
    const tasks = [0, 1].map((number) => {
      const emails = Array.from({ length: 6 }, (_, index) => `p${number}-${index}@home.example`)
      return { task: 'invite', location: place.location, actor, emails, max: MAX } as const
    })
    await race(...tasks)
    expect(await rowsOf(shared.kysely, 'one_time_link')).to.have.length(MAX)
  })
})

withEveryDatabase('one-time links', (open) => {
  it('rejects a token of another kind, row or secret, or with one character changed [241, 252]', async () => {
    const { kysely } = await open()
    const links = makeOneTimeLinks([Buffer.alloc(32, 1)])
    const address = { email: 'Ada@x.example', emailCanonical: 'ada@x.example' }
    const id = await createLink(kysely, { kind: 'recovery', ...address, livesSeconds: 60 }, nowMs)
    const token = links.tokenOf({ kind: 'recovery', id })
    const kinds = ['invitation', 'address', 'deletion'] as const
    const forged = [
      ...kinds.map((kind) => links.tokenOf({ kind, id })),
      makeOneTimeLinks([Buffer.alloc(32, 2)]).tokenOf({ kind: 'recovery', id }),
      `other.${token.split('.')[1]}`,
      `${token.slice(0, -2)}${token.at(-2) === 'A' ? 'B' : 'A'}${token.at(-1)}`,
      id,
      `${id}.`,
      '',
    ]
    for (const each of forged)
      expect(await links.find(kysely, 'recovery', { token: each, nowMs }), each).to.equal(undefined)
    for (const kind of kinds)
      expect(await links.find(kysely, kind, { token, nowMs }), kind).to.equal(undefined)
    const rotated = makeOneTimeLinks([Buffer.alloc(32, 2), Buffer.alloc(32, 1)])
    expect(await rotated.find(kysely, 'recovery', { token, nowMs })).to.include({ id })
  })
})
