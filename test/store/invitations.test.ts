import { join } from 'node:path'

import type { CompiledQuery } from 'kysely'

import { openDatabase } from '../../src/platform/store/open-stores.ts'
import type { SiteActor } from '../../src/school/changes/change.ts'
import { makeInvitations } from '../../src/school/members/invitations.ts'
import type { WorkerResult, WorkerTask } from '../store-worker.ts'
import { patiently, watched, withEveryDatabase } from '../support/database.ts'
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
const worker = join(import.meta.dirname, '../store-worker.ts')

withEveryDatabase('invitations', (open, newPlace) => {
  it('run the same statements for known and unknown addresses [204]', async () => {
    await using database = await open()
    await importRecords(database, records)
    const asked = []
    // Compiled statements are recorded only when they are compiled, here by the first invitation.
    for (const name of ['first', 'june', 'unknown']) {
      const statements: CompiledQuery[] = []
      await makeInvitations(MAX).invite(watched(database, statements), actor, {
        email: `${name}@home.example`,
        roles: ['student'],
      })
      asked.push(statements.map((statement) => statement.sql))
    }
    expect(asked[1]).to.have.length.above(4)
    expect(asked[1]).to.deep.equal(asked[2])
    expect(asked.flat().filter((each) => /"person".*email_canonical/.test(each))).to.deep.equal([])
  })

  it('of two processes at once are not more than the limit allows [208]', async () => {
    await using place = await newPlace()
    await using shared = await openDatabase(place.location, patiently)
    await importRecords(shared, records)
    const tasks = [0, 1].map((number): WorkerTask => {
      const emails = Array.from({ length: 6 }, (_, index) => `p${number}-${index}@home.example`)
      return { task: 'invite', location: place.location, actor, emails, max: MAX }
    })
    const results = await race<WorkerResult>(worker, tasks)
    expect(results).to.deep.equal([{ outcomes: [] }, { outcomes: [] }])
    const links = await shared.kysely.selectFrom('one_time_link').select('id').execute()
    expect(links).to.have.length(MAX)
  })
})
