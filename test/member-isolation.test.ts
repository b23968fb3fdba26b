import { sql } from 'kysely'

import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { insert, remove, rowsOf } from './support/database.ts'
import { june, marco, noor, type RunningService, sam } from './support/gatehouse.ts'
import {
  addKitchenClient,
  askMember,
  memberToken,
  readMember,
  readWrite,
} from './support/member-api.ts'
import { partsOf } from './support/schema-suite.ts'
import { sharedService } from './support/storages.ts'

const lists = [
  ...['enrolledCourses', 'digitalProducts', 'consultingServices', 'eventRegistrations'],
  'notifications',
]
const page = (list: string, args: string, inside: string) =>
  list === 'notifications' ? `${list}(${args}) ${inside}` : `viewer { ${list}(${args}) ${inside} }`

describe('the Member API for the token of one person at one site', () => {
  const running = sharedService()
  /** Marco is a student at Northlight and the owner of Open Kitchen: one person, two sites. */
  const tokens = { sam: '', noor: '', marco: '', marcoKitchen: '', juneKitchen: '' }
  before(async () => {
    const { url } = running()
    const clientId = await addKitchenClient(running())
    tokens.sam = await memberToken(url, readWrite, { person: sam })
    tokens.noor = await memberToken(url, readWrite, { person: noor })
    tokens.marco = await memberToken(url, readWrite, { person: marco })
    tokens.marcoKitchen = await memberToken(url, readWrite, { person: marco, clientId })
    tokens.juneKitchen = await memberToken(url, readWrite, { person: june, clientId })
    await giveOffers(running())
  })

  const kysely = () => running().kysely
  const read = async (token: string, query: string) =>
    await readMember({ url: running().url, token }, query)
  const ask = async (token: string, query: string, variables: Record<string, unknown>) =>
    await askMember({ url: running().url, token }, { query, variables })
  const cursorOf = async (token: string, list: string) => {
    const data = await read(token, `{ ${page(list, 'first: 1', '{ edges { cursor } }')} }`)
    const [, cursor = ''] = /"cursor":"([^"]+)"/.exec(JSON.stringify(data)) ?? []
    expect(cursor).to.not.equal('')
    return cursor
  }

  // [What the service does 6; Viewer 0.4]
  it('shows purchases and messages of this site only, but lists all schools of the person', async () => {
    const query =
      '{ viewer { id schools { slug } enrolledCourses { nodes { slug } } } notifications { nodes { id } } }'
    const here = await read(tokens.marco, query)
    const there = await read(tokens.marcoKitchen, query)
    const { id, schools } = here.viewer
    expect(there.viewer).to.deep.include({ id, schools })
    expect(schools).to.have.length(2)
    for (const [own, other] of [
      [here.viewer.enrolledCourses.nodes, there.viewer.enrolledCourses.nodes],
      [here.notifications.nodes, there.notifications.nodes],
    ]) {
      expect(own).to.have.length.above(0)
      for (const node of own) expect(other).not.to.deep.include(node)
    }
  })

  it('has no cursor or id arguments other than those that are tested here', () => {
    const { fields } = partsOf(makeMemberSchema())
    const taking = (name: string) =>
      fields.filter(({ args }) => args.some((arg) => arg.name === name)).map(({ name: of }) => of)
    expect(taking('after')).to.have.members(lists)
    const changes = ['markNotificationRead', 'updateNotificationSubscription']
    expect(taking('id')).to.have.members(['node', ...changes])
  })

  for (const list of lists) {
    it(`refuses for ${list} a cursor of another person, site or list`, async () => {
      const inside = '{ totalCount nodes { __typename } }'
      const query = `query ($after: String) { ${page(list, 'after: $after', inside)} }`
      const own = await cursorOf(tokens.marco, list)
      expect((await ask(tokens.marco, query, { after: own })).body.errors).to.equal(undefined)
      const foreign = [
        [tokens.marcoKitchen, own],
        [tokens.sam, await cursorOf(tokens.noor, list)],
        [tokens.sam, await cursorOf(tokens.juneKitchen, list)],
      ]
      for (const other of lists.filter((each) => each !== list))
        foreign.push([tokens.sam, await cursorOf(tokens.sam, other)])
      for (const [token = '', after = ''] of foreign) {
        const { body } = await ask(token, query, { after })
        expect(body.data, after).to.equal(null)
        const message = '"after" is not a cursor of this list; send a cursor from one of its pages'
        const extensions = { code: 'BAD_ARGUMENT', argument: 'after' }
        expect(body.errors?.[0]).to.deep.include({ message, extensions })
      }
    })
  }

  // [threat 15]
  it('does not find a node of another person or site, or with an id of more than 200 characters', async () => {
    const tables = [
      ...(['course_purchase', 'digital_product_purchase', 'event_registration'] as const),
      ...(['consulting_service_purchase', 'notification', 'notification_subscription'] as const),
    ]
    const nodeOf = async (token: string, id: string) => {
      const query = 'query ($id: ID!) { node(id: $id) { __typename id } }'
      const { body } = await ask(token, query, { id })
      expect(body.errors).to.equal(undefined)
      return body.data?.['node']
    }
    const idsOf = async (person_id: string) => {
      const found = tables.map((table) => rowsOf(kysely(), table, { person_id }))
      return (await Promise.all(found)).flat().map(({ id }) => id)
    }
    for (const id of [
      ...(await idsOf('per_noor')),
      ...(await idsOf('per_june')),
      ...['per_noor', 'sit_open_kitchen', 'crs_reading_light', 'lec_light_window', 'ord_sam_1'],
      ...['never_was', '', '\0', 'x'.repeat(5000)],
    ])
      expect(await nodeOf(tokens.sam, id), id).to.equal(null)
    const own = await idsOf('per_sam')
    expect(own).to.have.length.above(30)
    for (const id of own) expect(await nodeOf(tokens.sam, id)).to.have.property('id', id)
    const long = { id: 'n'.repeat(201), person_id: 'per_sam', site_id: 'sit_northlight' }
    const said = { topic: 'access', title: 'Welcome', body: 'Hello', created_at: 1 }
    await insert(kysely(), 'notification', { ...long, ...said })
    expect(await nodeOf(tokens.sam, long.id)).to.equal(null)
    await remove(kysely(), 'notification', { id: long.id })
    for (const id of await idsOf('per_marco')) {
      const seen = [await nodeOf(tokens.marco, id), await nodeOf(tokens.marcoKitchen, id)]
      expect(seen.filter(Boolean), id).to.have.length(1)
    }
  })

  const switchOn = 'updateNotificationSubscription(id: $id, enabled: true)'
  for (const [field, table] of [
    ['markNotificationRead(id: $id) { notification { id } }', 'notification'],
    [`${switchOn} { notificationSubscription { id } }`, 'notification_subscription'],
  ] as const) {
    it(`answers for a ${table} of another person or site as for an unknown id`, async () => {
      const all = kysely().selectFrom(table).selectAll().orderBy('id')
      const rows = await all.execute()
      for (const [token, person, site] of [
        [tokens.sam, 'per_sam', 'sit_northlight'],
        [tokens.marcoKitchen, 'per_marco', 'sit_open_kitchen'],
      ] as const) {
        const foreign = rows.filter((row) => row.person_id !== person || row.site_id !== site)
        expect(foreign).to.have.length.above(1)
        const answers = new Set<string>()
        for (const id of [...foreign.map((row) => row.id), 'never_was']) {
          const answer = await ask(token, `mutation ($id: ID!) { ${field} }`, { id })
          expect(answer.body.errors?.[0]?.extensions).to.deep.equal({ code: 'NOT_FOUND' })
          answers.add(answer.text)
        }
        expect(answers.size).to.equal(1)
      }
      expect(await all.execute()).to.deep.equal(rows)
    })
  }
})

/** Gives four people everything that their sites offer. */
async function giveOffers({ kysely }: RunningService): Promise<void> {
  for (const [table, offer, time] of [
    ['course_purchase', 'course', 'purchased_at'],
    ['digital_product_purchase', 'digital_product', 'purchased_at'],
    ['consulting_service_purchase', 'consulting_service', 'purchased_at'],
    ['event_registration', 'event', 'registered_at'],
  ]) {
    const given = `select 'given_' || person_id || id, person_id, id, 1
      from ${offer} join site_role using (site_id)
      where person_id in ('per_sam', 'per_noor', 'per_marco', 'per_june') on conflict do nothing`
    const columns = `id, person_id, ${offer}_id, ${time}`
    await sql.raw(`insert into ${table} (${columns}) ${given}`).execute(kysely)
  }
}
