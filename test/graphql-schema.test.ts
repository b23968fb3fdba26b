import { expect } from 'chai'
import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'

import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../src/api/graphql/connections.ts'
import { makeMemberSchema, schemaText } from '../src/api/member-api/member-api.ts'
import { knownTopics } from '../src/school/viewer/notifications.ts'
import { startService } from './support/gatehouse.ts'
import { memberToken, readMember, readOnly } from './support/member-api.ts'

const schema = makeMemberSchema()

const ownTypes: GraphQLNamedType[] = Object.values(schema.getTypeMap()).filter(
  (type) => !type.name.startsWith('__') && !isSpecifiedScalarType(type),
)

const fields = ownTypes.filter(isObjectType).flatMap((type) =>
  Object.values(type.getFields()).map((field) => ({
    ...field,
    at: `${type.name}.${field.name}`,
  })),
)

/** Every name that a client can write or read. */
const names = [
  ...ownTypes.map(({ name }) => name),
  ...fields.flatMap(({ name, args }) => [name, ...args.map((arg) => arg.name)]),
  ...ownTypes.filter(isEnumType).flatMap((type) => type.getValues().map(({ name }) => name)),
]

describe('the schema of the Member API', () => {
  // [Not shown 1]
  it('describes every type, field, argument and value', () => {
    const silent = [
      ...ownTypes.filter(({ description }) => !description).map(({ name }) => name),
      ...fields.filter(({ description }) => !description).map(({ at }) => at),
      ...fields.flatMap(({ at, args }) =>
        args.filter(({ description }) => !description).map(({ name }) => `${at}(${name})`),
      ),
      ...ownTypes
        .filter(isEnumType)
        .flatMap((type) => type.getValues().filter(({ description }) => !description)),
    ]
    expect(silent).to.deep.equal([])
    expect(names).to.have.length.above(100)
  })

  // [Viewer 1.2]
  it('names no order, coupon, refund or invoice anywhere [Viewer 1; design 22]', () => {
    const record = /order|coupon|refund|invoice|price|total_?cents|currency|payment/i
    expect(names.filter((name) => record.test(name))).to.deep.equal([])
  })

  // [Viewer 0.1; Viewer 0.2; Viewer 0.3; Viewer 3; Notification inbox 1]
  it('has the viewer, the purchases and the inbox that the specification names', () => {
    for (const name of [
      'viewer',
      'notifications',
      'unreadNotificationCount',
      'notificationSubscriptions',
    ]) {
      expect(schema.getQueryType()?.getFields(), name).to.have.property(name)
    }
    for (const name of [
      'markNotificationRead',
      'markAllNotificationsRead',
      'updateNotificationSubscription',
    ]) {
      expect(schema.getMutationType()?.getFields(), name).to.have.property(name)
    }
    const all = fields.map(({ at }) => at)
    expect(all).to.include.members([
      ...['id', 'name', 'email', 'schools', 'enrolledCourses'].map((name) => `Viewer.${name}`),
      ...['digitalProducts', 'consultingServices', 'eventRegistrations'].map(
        (name) => `Viewer.${name}`,
      ),
      ...['slug', 'expireDate', 'hasLifetimeAccess', 'lastWatchedLecture'].map(
        (name) => `EnrolledCourse.${name}`,
      ),
      ...['lectureId', 'positionSeconds'].map((name) => `WatchedLecture.${name}`),
    ])
  })

  // [Not shown 3]
  it('says of every field that may be null when it is', () => {
    const unexplained = fields.filter(
      ({ type, description }) => !isNonNullType(type) && !/\bnull\b/.test(description ?? ''),
    )
    expect(unexplained.map(({ at }) => at)).to.deep.equal([])
  })

  // [Viewer 2]
  it('gives every connection first and after, and the four parts of a page [design 21]', () => {
    const connections = fields.filter(({ type }) => /Connection!$/.test(String(type)))
    expect(connections).to.have.length(5)
    for (const { at, args, type } of connections) {
      const first = args.find(({ name }) => name === 'first')
      expect(first?.defaultValue, at).to.equal(PAGE_SIZE_DEFAULT)
      expect(first?.description, at).to.include(`from 1 to ${PAGE_SIZE_MAX}`)
      expect(
        args.map(({ name }) => name),
        at,
      ).to.include('after')
      const page = schema.getType(String(type).replace('!', ''))
      expect(isObjectType(page) && Object.keys(page.getFields()), at).to.have.members([
        'nodes',
        'edges',
        'pageInfo',
        'totalCount',
      ])
    }
  })

  it('takes no person, site or role as an argument', () => {
    const given = new Set(fields.flatMap(({ args }) => args.map(({ name }) => name)))
    expect([...given].sort()).to.deep.equal([
      ...['access', 'after', 'cancelled', 'enabled', 'first', 'id', 'sort', 'topic'],
      ...['unreadOnly', 'when'],
    ])
    expect(ownTypes.filter(isInputObjectType)).to.deep.equal([])
  })

  it('gives everything with an id to node(id:), as Relay asks', () => {
    const withId = ownTypes.filter(isObjectType).filter((type) => 'id' in type.getFields())
    const nodes = withId.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'))
    expect(nodes).to.deep.equal(withId)
    expect(String(schema.getQueryType()?.getFields()['node']?.type)).to.equal('Node')
  })

  it('has the roles and topics that there are as values, spelled as in data', () => {
    const valuesOf = (name: string) => {
      const type = schema.getType(name)
      return isEnumType(type) ? type.getValues().map(({ value }) => value) : []
    }
    expect(valuesOf('SiteRole')).to.deep.equal(['owner', 'admin', 'lecturer', 'student'])
    expect(valuesOf('NotificationTopic')).to.deep.equal([...knownTopics])
  })

  // [Not shown 7]
  it('is published as it stands', async () => {
    await using running = await startService()
    const response = await fetch(`${running.url}/member/schema.graphql`)
    expect(await response.text()).to.equal(schemaText)
  })

  // [Viewer 1.3]
  it('shows nothing of an order, whatever is asked [Viewer 1]', async () => {
    await using running = await startService()
    const token = await memberToken(running.url, readOnly)
    const everything = await readMember({ url: running.url, token }, selectAll('Viewer'))
    const { kysely } = running.service.stores.database
    const orders = await kysely.selectFrom('customer_order').selectAll().execute()
    const secrets = orders.flatMap((order) => [
      order.id,
      order.number,
      order.coupon_code,
      order.invoice_number,
    ])
    const shown = JSON.stringify(everything)
    expect(shown).to.include('reading-light')
    expect(secrets.filter((secret) => secret && shown.includes(secret))).to.deep.equal([])
  })
})

/** A query of every field below the viewer. */
function selectAll(root: string): string {
  const select = (typeName: string): string => {
    const type = schema.getType(typeName)
    if (!isObjectType(type)) return ''
    const inside = Object.values(type.getFields())
      .filter(({ name }) => name !== 'edges')
      .map(({ name, type: of }) => `${name} ${select(String(of).replace(/[[\]!]/g, ''))}`)
    return `{ ${inside.join(' ')} }`
  }
  return `{ viewer ${select(root)} }`
}
