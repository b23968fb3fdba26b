import { expect } from 'chai'

import { makeCursors } from '../src/platform/store/cursor.ts'
import { olivia, type RunningService, startService } from './support/gatehouse.ts'
import { operatorToken, problemOf, readTool } from './support/mcp.ts'
import { linkOf, makePagePerson } from './support/page-person.ts'

const strangersKey = makeCursors([Buffer.alloc(32)])

/** Cursors as they look that carry a place and no signature of this service. */
function forgedFor(scope: readonly string[], by: string | number): string[] {
  const unsigned = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url')
  return [
    unsigned([by, 'x']),
    unsigned([scope.at(-1), by, 'x']),
    unsigned([by, 'x\0']),
    Buffer.concat([Buffer.alloc(16), Buffer.from(JSON.stringify([by, 'x']))]).toString('base64url'),
    strangersKey.seal([by, 'x'], scope),
    strangersKey.seal([by, 'x\0'], scope),
    'x'.repeat(900),
    'nonsense',
    "' or 1=1 --",
  ]
}

describe('cursors', () => {
  let running: RunningService
  before(async () => {
    running = await startService()
    const rows = Array.from({ length: 25 }, (_value, number) => ({
      kind: 'site' as const,
      site_id: 'sit_northlight',
      auth_method: 'none' as const,
      application_type: 'web' as const,
      client_id: `many-${number}`,
      name: `Many ${number}`,
      created_by: null,
      created_at: number,
      disabled_at: null,
      deleted_at: null,
    }))
    await running.service.stores.database.kysely
      .insertInto('oauth_application')
      .values(rows)
      .execute()
  })
  after(async () => await running[Symbol.asyncDispose]())

  it('are the place and a signature over it and the scope, in base64url', () => {
    const cursors = makeCursors([Buffer.alloc(32, 1)])
    const scope = ['per_sam', 'sit_northlight', 'notifications']
    const handedOut = '1GM8V613OYEg-NyZFliPvlsxNzk1MjQ1NzcyMTg5LCJub3Rfc2FtXzE0Il0'
    expect(cursors.open(handedOut, scope)).to.deep.equal([1795245772189, 'not_sam_14'])
    expect(cursors.seal([1795245772189, 'not_sam_14'], scope)).to.equal(handedOut)
  })

  it('have one spelling, and belong to one list', () => {
    const cursors = makeCursors([Buffer.alloc(32, 1)])
    const cursor = cursors.seal(['a', 'b'], ['per_sam', 'notifications'])
    const open = (text: string, scope: readonly string[] = ['per_sam', 'notifications']) =>
      cursors.open(text, scope)
    expect(open(cursor)).to.deep.equal(['a', 'b'])
    for (const same of [`${cursor}=`, ` ${cursor}`, `${cursor}\n`, `${cursor}!`]) {
      expect(open(same), JSON.stringify(same)).to.equal(undefined)
    }
    for (const other of [['per_olivia', 'notifications'], ['per_sam'], ['per_samnotifications']]) {
      expect(open(cursor, other), other.join()).to.equal(undefined)
    }
    expect(open('')).to.equal(undefined)
    expect(open('x'.repeat(21))).to.equal(undefined)
  })

  it('are accepted when they were signed with the key before', () => {
    const [before, now] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const cursor = makeCursors([before]).seal(['a', 'b'], ['list'])
    expect(makeCursors([now, before]).open(cursor, ['list'])).to.deep.equal(['a', 'b'])
    expect(makeCursors([now]).open(cursor, ['list'])).to.equal(undefined)
  })

  it('of tools are refused when they are forged, or of another list', async () => {
    const { url } = running
    const scope = 'school:read orders:read courses:read members:read students:read'
    const token = await operatorToken(url, scope)
    const endOf = async (name: string, values = {}) => {
      const page = await readTool<{ pageInfo: { endCursor: string } }>(url, name, {
        values: { first: 1, ...values },
        token,
      })
      return page.pageInfo.endCursor
    }
    const site = { site: 'northlight' }
    const foreign = {
      list_site_courses: [
        await endOf('list_public_courses', site),
        await endOf('list_site_orders'),
      ],
      list_site_members: [await endOf('list_site_students'), await endOf('list_site_courses')],
      list_site_orders: [await endOf('list_site_courses')],
    }
    for (const [name, cursors] of Object.entries(foreign)) {
      const list = name.replace('list_site_', '')
      const forged = forgedFor(['tools', list], list === 'orders' ? 1 : 'a')
      for (const after of [...cursors, ...forged]) {
        expect(await problemOf(url, name, { values: { after }, token }), after).to.equal(
          'after must be pageInfo.endCursor of a page of the same list. Omit it for the first page.',
        )
      }
    }
  })

  it('of pages begin the list anew when they are forged, or of another list', async () => {
    const person = makePagePerson(running.url, olivia)
    const applications = '/admin/northlight/applications'
    const disable = `${applications}/many-1/disable`
    await person.send(await person.visit(disable), disable)
    const shown = async (path: string) => {
      const { text, status } = await person.visit(path)
      expect(status, path).to.equal(200)
      return [...text.matchAll(/<code>([\w-]+)<\/code>/g)].map(([, id]) => id)
    }
    const beginning = await shown(applications)
    const next = new URL(linkOf(await person.visit(applications), 'next-page'), running.url)
    const own = next.searchParams.get('after') ?? ''
    expect(await shown(`${applications}?after=${own}`)).to.not.include(beginning[0])
    for (const after of forgedFor(['pages', applications], 24)) {
      const address = `${applications}?${new URLSearchParams({ after })}`
      expect(await shown(address), after).to.deep.equal(beginning)
    }
    const audit = '/admin/northlight/audit'
    const entries = await shown(audit)
    expect(entries).to.not.deep.equal([])
    expect(await shown(`${audit}?after=${own}`)).to.deep.equal(entries)
    expect(await shown(`${audit}?after=%20`)).to.deep.equal(entries)
  })
})
