import { isEnumType, isInputObjectType, isObjectType } from 'graphql'

import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { schemaText } from '../src/api/member-api/schema-text.ts'
import { knownTopics } from '../src/school/viewer/notifications.ts'
import { rowsOf } from './support/database.ts'
import { memberReader } from './support/member-api.ts'
import { partsOf, schemaSuite } from './support/schema-suite.ts'
import { exampleOf, operationsOf } from './support/schema-walk.ts'
import { sharedService } from './support/storages.ts'

const schema = makeMemberSchema()
const { ownTypes, fields } = partsOf(schema)

describe('the schema of the Member API [Not shown 1; Not shown 3; Viewer 2]', () => {
  const running = sharedService()
  schemaSuite(schema, /\bnull\b/)

  // [Viewer 1.2]
  it('does not name orders, coupons, refunds or invoices anywhere [Viewer 1; design 22]', () => {
    const names = [
      ...ownTypes.map(({ name }) => name),
      ...fields.flatMap(({ name, args }) => [name, ...args.map((arg) => arg.name)]),
      ...ownTypes.filter(isEnumType).flatMap((type) => type.getValues().map(({ name }) => name)),
    ]
    expect(names).to.have.length.above(100)
    const record = /order|coupon|refund|invoice|price|total_?cents|currency|payment/i
    expect(names.filter((name) => record.test(name))).to.deep.equal([])
  })

  // [Viewer 0.1; Viewer 0.2; Viewer 0.3; Viewer 3; Notification inbox 1]
  it('has the viewer, the purchases and the inbox of the specification', () => {
    const of = (type: string, ...names: string[]) => names.map((name) => `${type}.${name}`)
    expect(fields.map(({ at }) => at)).to.include.members([
      ...of('Query', 'viewer', 'notifications', 'unreadNotificationCount'),
      ...of('Query', 'notificationSubscriptions'),
      ...of('Mutation', 'markNotificationRead', 'markAllNotificationsRead'),
      ...of('Mutation', 'updateNotificationSubscription'),
      ...of('Viewer', 'id', 'name', 'email', 'schools', 'enrolledCourses', 'digitalProducts'),
      ...of('Viewer', 'consultingServices', 'eventRegistrations'),
      ...of('EnrolledCourse', 'slug', 'expireDate', 'hasLifetimeAccess', 'lastWatchedLecture'),
      ...of('WatchedLecture', 'lectureId', 'positionSeconds'),
    ])
    expect(fields.filter(({ type }) => /Connection!$/.test(String(type)))).to.have.length(5)
  })

  it('does not take a person, site or role as an argument', () => {
    const given = new Set(fields.flatMap(({ args }) => args.map(({ name }) => name)))
    expect([...given].sort()).to.deep.equal([
      ...['access', 'after', 'cancelled', 'enabled', 'first', 'id', 'sort', 'topic'],
      ...['unreadOnly', 'when'],
    ])
    expect(ownTypes.filter(isInputObjectType)).to.deep.equal([])
  })

  it('makes every type with an id available through node(id:), as Relay expects', () => {
    const withId = ownTypes.filter(isObjectType).filter((type) => 'id' in type.getFields())
    const nodes = withId.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'))
    expect(nodes).to.deep.equal(withId)
    expect(String(schema.getQueryType()?.getFields()['node']?.type)).to.equal('Node')
  })

  it('has the roles and topics as enum values, spelled as in the data', () => {
    const valuesOf = (name: string) => {
      const type = schema.getType(name)
      return isEnumType(type) ? type.getValues().map(({ value }) => value) : []
    }
    expect(valuesOf('SiteRole')).to.deep.equal(['owner', 'admin', 'lecturer', 'student'])
    expect(valuesOf('NotificationTopic')).to.deep.equal([...knownTopics])
  })

  it('is published unchanged [Not shown 7]', async () => {
    const response = await fetch(`${running().url}/member/schema.graphql`)
    expect(await response.text()).to.equal(schemaText)
  })

  it('does not show any order data in a query of every field [Viewer 1] [Viewer 1.3]', async () => {
    const [viewer] = operationsOf(schema).filter(({ field }) => field.name === 'viewer')
    if (!viewer) throw new Error('there is no viewer')
    const reads = await memberReader(running().url)
    const shown = JSON.stringify(await reads(exampleOf(viewer, new Map()).query))
    expect(shown).to.include('reading-light')
    for (const order of await rowsOf(running().kysely, 'customer_order')) {
      const { id, number, coupon_code, invoice_number } = order
      for (const secret of [id, number, coupon_code, invoice_number])
        if (secret) expect(shown).to.not.include(secret)
    }
  })
})
