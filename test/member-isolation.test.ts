import { expect } from 'chai'
import { type GraphQLSchema, isObjectType } from 'graphql'

import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { makeCursors } from '../src/platform/store/cursor.ts'
import { june, marco, noor, type RunningService, sam, startService } from './support/gatehouse.ts'
import {
  addKitchenClient,
  askMember,
  memberToken,
  readMember,
  readOnly,
  readWrite,
} from './support/member-api.ts'

/** Where each list with a cursor stands, as a field of the query root. */
const lists = {
  enrolledCourses: (args: string, inside: string) =>
    `viewer { enrolledCourses(${args}) ${inside} }`,
  digitalProducts: (args: string, inside: string) =>
    `viewer { digitalProducts(${args}) ${inside} }`,
  consultingServices: (args: string, inside: string) =>
    `viewer { consultingServices(${args}) ${inside} }`,
  eventRegistrations: (args: string, inside: string) =>
    `viewer { eventRegistrations(${args}) ${inside} }`,
  notifications: (args: string, inside: string) => `notifications(${args}) ${inside}`,
}

describe('what a token cannot reach at the Member API', () => {
  let running: RunningService
  /** Marco is a student at Northlight and the owner of Open Kitchen: one person, two sites. */
  const tokens = { sam: '', noor: '', marcoNorthlight: '', marcoKitchen: '', juneKitchen: '' }
  before(async () => {
    running = await startService()
    const { url } = running
    const clientId = await addKitchenClient(running)
    tokens.sam = await memberToken(url, readWrite, { person: sam })
    tokens.noor = await memberToken(url, readWrite, { person: noor })
    tokens.marcoNorthlight = await memberToken(url, readWrite, { person: marco })
    tokens.marcoKitchen = await memberToken(url, readWrite, { person: marco, clientId })
    tokens.juneKitchen = await memberToken(url, readWrite, { person: june, clientId })
    await giveEverybodyTwoOfEach(running)
  })
  after(async () => await running[Symbol.asyncDispose]())

  const cursorsOf = async (token: string, list: keyof typeof lists): Promise<string[]> => {
    const query = `{ ${lists[list]('first: 100', '{ edges { cursor } }')} }`
    const data = await readMember<Record<string, unknown>>({ url: running.url, token }, query)
    return [...JSON.stringify(data).matchAll(/"cursor":"([^"]+)"/g)].map(
      ([, cursor]) => cursor ?? '',
    )
  }

  it('is a person of another site: neither may authorize there', async () => {
    let refused: unknown
    try {
      await memberToken(running.url, readOnly, { person: june })
    } catch (error) {
      refused = error
    }
    expect(String(JSON.stringify(refused) + String(refused))).to.include('access_denied')
  })

  // [What the service does 6; Viewer 0.4]
  it('is a purchase or a message at another site; schools alone reach beyond the token', async () => {
    const query =
      '{ viewer { id schools { slug } enrolledCourses { nodes { slug } } } notifications { nodes { id } } }'
    const here = await readMember({ url: running.url, token: tokens.marcoNorthlight }, query)
    const there = await readMember({ url: running.url, token: tokens.marcoKitchen }, query)
    const parts = (data: unknown) => JSON.parse(JSON.stringify(data))
    expect(parts(here).viewer.id).to.equal(parts(there).viewer.id)
    expect(parts(here).viewer.schools).to.deep.equal(parts(there).viewer.schools)
    expect(parts(here).viewer.schools).to.have.length(2)
    const slugs = (data: unknown) =>
      parts(data).viewer.enrolledCourses.nodes.map(({ slug }: { slug: string }) => slug)
    expect(slugs(here)).to.have.length.above(0)
    expect(slugs(here).filter((slug: string) => slugs(there).includes(slug))).to.deep.equal([])
    const ids = (data: unknown) =>
      parts(data).notifications.nodes.map(({ id }: { id: string }) => id)
    expect(ids(here)).to.have.length.above(0)
    expect(ids(here).filter((id: string) => ids(there).includes(id))).to.deep.equal([])
  })

  it('has no argument that this test does not walk', () => {
    expect(argumentsNamed(makeMemberSchema(), 'after')).to.have.members([...Object.keys(lists)])
    expect(argumentsNamed(makeMemberSchema(), 'id')).to.have.members([
      'node',
      'markNotificationRead',
      'updateNotificationSubscription',
    ])
  })

  for (const list of Object.keys(lists) as (keyof typeof lists)[]) {
    it(`is a page of ${list} by the cursor of another person, site or list`, async () => {
      const own = await cursorsOf(tokens.sam, list)
      expect(own.length, 'a list that can be walked').to.be.above(1)
      const foreign = [
        ...(await cursorsOf(tokens.noor, list)).slice(0, 1),
        ...(await cursorsOf(tokens.juneKitchen, list)).slice(0, 1),
      ]
      for (const other of Object.keys(lists) as (keyof typeof lists)[]) {
        if (other !== list) foreign.push(...(await cursorsOf(tokens.sam, other)).slice(0, 1))
      }
      expect(foreign).to.have.length.above(4)
      const forged = makeCursors([Buffer.alloc(32)]).seal(
        [Date.now(), 'x'],
        ['per_sam', 'sit_northlight', list],
      )
      const broken = [
        '',
        'x',
        forged,
        `${own[0]}A`,
        own[0]?.slice(0, -2) ?? '',
        altered(own[0]),
        "' or 1=1 --",
        'x'.repeat(5000),
        '\0',
      ]
      for (const after of [...foreign, ...broken]) {
        const query = `query ($after: String) { ${lists[list]('after: $after', '{ totalCount nodes { __typename } }')} }`
        const { body } = await askMember(
          { url: running.url, token: tokens.sam },
          { query, variables: { after } },
        )
        expect(body.data, after.slice(0, 40)).to.equal(null)
        expect(body.errors?.[0]?.message).to.equal('after is not a cursor of this list')
        expect(body.errors?.[0]?.extensions).to.deep.equal({
          code: 'BAD_ARGUMENT',
          argument: 'after',
        })
      }
    })

    it(`is the same person's page of ${list} at another site`, async () => {
      const [cursor] = await cursorsOf(tokens.marcoNorthlight, list)
      expect(cursor).to.be.a('string')
      const query = `query ($after: String) { ${lists[list]('after: $after', '{ totalCount }')} }`
      const ask = async (token: string) =>
        (await askMember({ url: running.url, token }, { query, variables: { after: cursor } })).body
      expect((await ask(tokens.marcoNorthlight)).errors).to.equal(undefined)
      expect((await ask(tokens.marcoKitchen)).data).to.equal(null)
    })
  }

  // [threat 15]
  it('is anything by its id that is of another person or site, which is as one that never was', async () => {
    const { kysely } = running.service.stores.database
    const tables = [
      ...(['course_purchase', 'digital_product_purchase', 'event_registration'] as const),
      ...(['consulting_service_purchase', 'notification', 'notification_subscription'] as const),
    ]
    const query = 'query ($id: ID!) { node(id: $id) { __typename id } }'
    const nodeOf = async (token: string, id: string) => {
      const { body } = await askMember({ url: running.url, token }, { query, variables: { id } })
      expect(body.errors).to.equal(undefined)
      return body.data?.['node']
    }
    const idsOf = async (person: string) => {
      const found = tables.map(
        async (table) =>
          await kysely.selectFrom(table).select('id').where('person_id', '=', person).execute(),
      )
      return (await Promise.all(found)).flat().map(({ id }) => id)
    }
    const foreign = [
      ...(await idsOf('per_noor')),
      ...(await idsOf('per_june')),
      ...['per_noor', 'sit_open_kitchen', 'crs_reading_light', 'lec_light_window', 'ord_sam_1'],
      ...['never_was', '', '\0', 'x'.repeat(5000)],
    ]
    for (const id of foreign) expect(await nodeOf(tokens.sam, id), id).to.equal(null)
    const own = await idsOf('per_sam')
    expect(own).to.have.length.above(30)
    for (const id of own) expect(await nodeOf(tokens.sam, id)).to.have.property('id', id)
    // One person at two sites: what is at one of them is not seen from the other.
    for (const id of await idsOf('per_marco')) {
      const seen = [await nodeOf(tokens.marcoNorthlight, id), await nodeOf(tokens.marcoKitchen, id)]
      expect(seen.filter(Boolean), id).to.have.length(1)
    }
  })

  for (const [field, table] of [
    ['markNotificationRead(id: $id) { notification { id } }', 'notification'],
    [
      'updateNotificationSubscription(id: $id, enabled: true) { notificationSubscription { id } }',
      'notification_subscription',
    ],
  ] as const) {
    it(`is a row of ${table} of another person or site, which answers as one that never was`, async () => {
      const { kysely } = running.service.stores.database
      const snapshot = async () =>
        JSON.stringify(await kysely.selectFrom(table).selectAll().orderBy('id').execute())
      const before = await snapshot()
      const rows = await kysely.selectFrom(table).select(['id', 'person_id', 'site_id']).execute()
      for (const [token, person, site] of [
        [tokens.sam, 'per_sam', 'sit_northlight'],
        [tokens.marcoKitchen, 'per_marco', 'sit_open_kitchen'],
      ] as const) {
        const foreign = rows.filter((row) => row.person_id !== person || row.site_id !== site)
        expect(foreign).to.have.length.above(1)
        const answers = new Set<string>()
        for (const id of [...foreign.map((row) => row.id), 'never_was']) {
          const query = `mutation ($id: ID!) { ${field} }`
          const answer = await askMember({ url: running.url, token }, { query, variables: { id } })
          expect(answer.body.errors?.[0]?.extensions).to.deep.equal({ code: 'NOT_FOUND' })
          answers.add(answer.text)
        }
        // Byte for byte: nothing tells a foreign id from one that does not exist.
        expect(answers.size).to.equal(1)
      }
      expect(await snapshot()).to.equal(before)
    })
  }
})

function argumentsNamed(schema: GraphQLSchema, name: string): string[] {
  return Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) && !type.name.startsWith('__'))
    .flatMap((type) => (isObjectType(type) ? Object.values(type.getFields()) : []))
    .filter(({ args }) => args.some((arg) => arg.name === name))
    .map((field) => field.name)
}

/** Two rows in every list of every member of this test, so that each list has a cursor to steal. */
async function giveEverybodyTwoOfEach({ service }: RunningService): Promise<void> {
  const { kysely } = service.stores.database
  const offersOf = async (table: 'course' | 'digital_product' | 'consulting_service' | 'event') =>
    await kysely.selectFrom(table).select(['id', 'site_id']).orderBy('id').execute()
  const members = [
    ['per_sam', 'sit_northlight'],
    ['per_noor', 'sit_northlight'],
    ['per_marco', 'sit_northlight'],
    ['per_june', 'sit_open_kitchen'],
  ] as const
  const offers = {
    course: await offersOf('course'),
    product: await offersOf('digital_product'),
    service: await offersOf('consulting_service'),
    event: await offersOf('event'),
  }
  for (const [person_id, site] of members) {
    const two = (list: readonly { id: string; site_id: string }[]) =>
      list.filter((offer) => offer.site_id === site).slice(0, 2)
    const given = (kind: string, id: string) => ({
      id: `given_${kind}_${person_id}_${id}`,
      person_id,
      order_id: null,
    })
    for (const { id } of two(offers.course)) {
      await kysely
        .insertInto('course_purchase')
        .values({ ...given('c', id), course_id: id, purchased_at: 1, expires_at: null })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
    for (const { id } of two(offers.product)) {
      await kysely
        .insertInto('digital_product_purchase')
        .values({ ...given('d', id), digital_product_id: id, purchased_at: 1 })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
    for (const { id } of two(offers.service)) {
      await kysely
        .insertInto('consulting_service_purchase')
        .values({
          ...given('s', id),
          consulting_service_id: id,
          purchased_at: 1,
          scheduled_at: null,
        })
        .execute()
    }
    for (const { id } of two(offers.event)) {
      await kysely
        .insertInto('event_registration')
        .values({ ...given('e', id), event_id: id, registered_at: 1, cancelled_at: null })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    }
  }
}

/** The same but for its first character, whatever that is. */
function altered(cursor = ''): string {
  return (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1)
}
