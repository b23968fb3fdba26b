import { expect } from 'chai'
import { isEnumType, isInputObjectType, isObjectType } from 'graphql'

import { makeMemberSchema, schemaText } from '../src/api/member-api/member-api.ts'
import { knownTopics } from '../src/school/viewer/notifications.ts'
import { startService } from './support/gatehouse.ts'
import { memberToken, readMember, readOnly } from './support/member-api.ts'
import { partsOf, schemaSuite } from './support/schema-suite.ts'

const schema = makeMemberSchema()

const { ownTypes, fields } = partsOf(schema)

/** Every name that a client can write or read. */
const names = [
  ...ownTypes.map(({ name }) => name),
  ...fields.flatMap(({ name, args }) => [name, ...args.map((arg) => arg.name)]),
  ...ownTypes.filter(isEnumType).flatMap((type) => type.getValues().map(({ name }) => name)),
]

// [Not shown 1; Not shown 3; Viewer 2]
describe('the schema of the Member API', () => {
  schemaSuite(schema, /\bnull\b/)

  it('has more than 100 names and five connections', () => {
    expect(names).to.have.length.above(100)
    expect(fields.filter(({ type }) => /Connection!$/.test(String(type)))).to.have.length(5)
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
