import { expect } from 'chai'

import { auditEvents, type Operator, startOperator } from './support/admin-api.ts'
import type { RunningService } from './support/gatehouse.ts'
import { forEachDatabase } from './support/storages.ts'

const assign =
  'mutation ($input: TeachingInput!) { assignLecturer(input: $input) { id lecturers { id } } }'
const unassign =
  'mutation ($input: TeachingInput!) { unassignLecturer(input: $input) { id lecturers { id } } }'

forEachDatabase('the Admin API: lecturers and orders', (start) => {
  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const audited = async (action: string) => await auditEvents(running, action)

  describe('lecturers', () => {
    it('are listed with what they teach at this site', async () => {
      const { lecturers } = await operator.run(
        '{ lecturers { totalCount nodes { id picture lecturerSince courses { id slug } } } }',
      )
      expect(lecturers.totalCount).to.equal(1)
      const [lena] = lecturers.nodes
      expect(lena.id).to.equal('per_lena')
      expect(lena.courses.map(({ id }: { id: string }) => id)).to.have.members([
        'crs_reading_light',
        'crs_portrait',
        'crs_street',
        'crs_short_film',
        'crs_color',
      ])
      const found = await operator.run('{ lecturers(search: "LENA") { nodes { id } } }')
      expect(found.lecturers.nodes).to.deep.equal([{ id: 'per_lena' }])
      const { marco, lena: one } = await operator.run(
        '{ marco: lecturer(id: "per_marco") { id } lena: lecturer(id: "per_lena") { name } }',
      )
      expect(marco).to.equal(null)
      expect(one.name).to.equal('Lena Sørensen')
    })

    it('are named by their courses, by name, a page of courses at once', async () => {
      const { course } = await operator.run(
        '{ course(id: "crs_street") { lecturers { id name } } }',
      )
      expect(course.lecturers).to.deep.equal([
        { id: 'per_lena', name: 'Lena Sørensen' },
        { id: 'per_olivia', name: 'Olivia Hartmann' },
      ])
    })

    it('are assigned and unassigned once', async () => {
      const input = { courseId: 'crs_documentary', personId: 'per_lena' }
      for (const _ of [1, 2]) {
        const { assignLecturer } = await operator.run(assign, { input })
        expect(assignLecturer).to.deep.equal({
          id: 'crs_documentary',
          lecturers: [{ id: 'per_lena' }, { id: 'per_olivia' }],
        })
      }
      expect(await audited('lecturer.assign')).to.have.length(1)
      for (const _ of [1, 2]) {
        const { unassignLecturer } = await operator.run(unassign, { input })
        expect(unassignLecturer.lecturers).to.deep.equal([{ id: 'per_olivia' }])
      }
      expect(await audited('lecturer.unassign')).to.have.length(1)
    })

    it('need the role, and belong to the site', async () => {
      const wish = { courseId: 'crs_documentary', personId: 'per_noor' }
      expect(await operator.refused(assign, { input: wish })).to.deep.equal({
        code: 'CONFLICT',
        argument: 'personId',
      })
      for (const input of [
        { ...wish, personId: 'per_june' },
        { courseId: 'crs_bread', personId: 'per_lena' },
      ]) {
        expect(await operator.refused(assign, { input })).to.include({ code: 'NOT_FOUND' })
      }
      const bread = { courseId: 'crs_bread', personId: 'per_marco' }
      expect(await operator.refused(unassign, { input: bread })).to.include({ code: 'NOT_FOUND' })
    })

    it('need their own scope beside that of the courses', async () => {
      const reader = await startOperator(running, { scopes: ['courses:read'] })
      const { body, headers } = await reader.ask('{ courses { nodes { lecturers { id } } } }')
      expect(body.error).to.equal('insufficient_scope')
      expect(headers.get('www-authenticate')).to.include('lecturers:read')
    })
  })

  describe('orders', () => {
    it('are listed newest first, with buyer, items and totals', async () => {
      const { orders } = await operator.run(
        '{ orders(first: 2) { totalCount nodes { number totalCents currency couponCode invoiceNumber refundedAt buyer { id name email } items { kind id title } } } }',
      )
      expect(orders.totalCount).to.equal(8)
      expect(orders.nodes.map(({ number }: { number: string }) => number)).to.deep.equal([
        'NL-1422',
        'NL-1380',
      ])
      const [, film] = orders.nodes
      expect(film).to.include({ totalCents: 15800, currency: 'EUR', refundedAt: null })
      expect(film.buyer).to.deep.equal({
        id: 'per_sam',
        name: 'Sam Student',
        email: 'sam@northlight.example',
      })
      expect(film.items.map(({ id }: { id: string }) => id)).to.include.members([
        'crs_short_film',
        'crs_color',
        'dig_shot_list',
      ])
      expect(new Set(film.items.map(({ kind }: { kind: string }) => kind))).to.include('COURSE')
    })

    it('are filtered by person and by time, page by page', async () => {
      const numbers = async (args: string) => {
        const { orders } = await operator.run(`{ orders(${args}) { totalCount nodes { number } } }`)
        expect(orders.totalCount).to.equal(orders.nodes.length)
        return orders.nodes.map(({ number }: { number: string }) => number)
      }
      const all = await numbers('first: 100')
      expect(await numbers('personId: "per_noor"')).to.deep.equal(['NL-1301', 'NL-1290'])
      expect(await numbers('personId: "per_june"')).to.deep.equal([])
      const { order } = await operator.run('{ order(number: "NL-1290") { placedAt } }')
      const since = await numbers(`from: "${order.placedAt}"`)
      const before = await numbers(`until: "${order.placedAt}"`)
      expect(since.at(-1)).to.equal('NL-1290')
      expect([...since, ...before]).to.deep.equal(all)
      const seen = []
      let after = ''
      for (;;) {
        const { orders } = await operator.run(
          `{ orders(first: 3${after}) { nodes { number } pageInfo { endCursor hasNextPage } } }`,
        )
        seen.push(...orders.nodes.map(({ number }: { number: string }) => number))
        after = `, after: "${orders.pageInfo.endCursor}"`
        if (!orders.pageInfo.hasNextPage) break
      }
      expect(seen).to.deep.equal(all)
    })

    it('are found by id and by number at their own site only', async () => {
      const found = await operator.run(
        '{ id: order(id: "ord_noor_2") { number refundedAt } number: order(number: "NL-1301") { id } foreign: order(number: "OK-0211") { id } other: order(id: "ord_june_1") { id } none: order { id } }',
      )
      expect(found.id.number).to.equal('NL-1301')
      expect(found.id.refundedAt).to.be.a('string')
      expect(found.number).to.deep.equal({ id: 'ord_noor_2' })
      expect([found.foreign, found.other, found.none]).to.deep.equal([null, null, null])
    })

    it('stay those of a buyer who was removed', async () => {
      await operator.run('mutation { removeMember(id: "per_theo") { deletedId } }')
      const { order } = await operator.run('{ order(number: "NL-1001") { buyer { name } } }')
      expect(order.buyer.name).to.equal('Theo Brandt')
    })
  })
})
