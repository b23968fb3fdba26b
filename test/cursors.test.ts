import { makeCursors } from '../src/platform/store/cursor.ts'
import { insert } from './support/database.ts'
import { olivia } from './support/gatehouse.ts'
import { linkOf, makePagePerson, matchesIn } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'

describe('cursors', () => {
  const running = sharedService()
  const cursors = makeCursors([Buffer.alloc(32, 1)])

  it('contain the position and a signature over it and the scope, in base64url', () => {
    const scope = ['per_sam', 'sit_northlight', 'notifications']
    const handedOut = '1GM8V613OYEg-NyZFliPvlsxNzk1MjQ1NzcyMTg5LCJub3Rfc2FtXzE0Il0'
    expect(cursors.open(handedOut, scope)).to.deep.equal([1795245772189, 'not_sam_14'])
    expect(cursors.seal([1795245772189, 'not_sam_14'], scope)).to.equal(handedOut)
  })

  it('have one spelling, and belong to one list', () => {
    const scope = ['per_sam', 'notifications']
    const cursor = cursors.seal(['a', 'b'], scope)
    expect(cursors.open(cursor, scope)).to.deep.equal(['a', 'b'])
    const spellings = [`${cursor}=`, ` ${cursor}`, `${cursor}\n`, `${cursor}!`]
    const place = Buffer.from('["a","b"]')
    const unsigned = [place, Buffer.concat([Buffer.alloc(16), place])]
    const forged = unsigned.map((bytes) => bytes.toString('base64url'))
    for (const other of [...spellings, ...forged, '', 'x'.repeat(21)])
      expect(cursors.open(other, scope), JSON.stringify(other)).to.equal(undefined)
    for (const other of [['per_olivia', 'notifications'], ['per_sam'], ['per_samnotifications']])
      expect(cursors.open(cursor, other), other.join()).to.equal(undefined)
  })

  it('are accepted with a signature by the previous key', () => {
    const [before, now] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const cursor = makeCursors([before]).seal(['a', 'b'], ['list'])
    expect(makeCursors([now, before]).open(cursor, ['list'])).to.deep.equal(['a', 'b'])
    expect(makeCursors([now]).open(cursor, ['list'])).to.equal(undefined)
  })

  it('of pages start the list again when they are forged, or of another list', async () => {
    const { url, service } = running()
    const rows = Array.from({ length: 25 }, (_, number) => ({
      ...({ kind: 'site', site_id: 'sit_northlight', auth_method: 'none' } as const),
      // Up to seven rows share a time, so a cursor must contain more than the time.
      ...{ application_type: 'web' as const, created_at: Math.floor(number / 7) },
      ...{ client_id: `many-${number}`, name: `Many ${number}` },
    }))
    await insert(service.stores.database.kysely, 'oauth_application', rows)
    const person = makePagePerson(url, olivia)
    const applications = '/admin/northlight/applications'
    await person.submit(`${applications}/many-1/disable`)
    const shown = async (path: string) => {
      const { text, status } = await person.visit(path)
      expect(status, path).to.equal(200)
      return matchesIn(text, /(?:applications\/(?=many-\d)|<strong><bdi>)([\w -]+)/g)
    }
    const beginning = await shown(applications)
    expect(beginning).to.have.length.above(10)
    const next = new URL(linkOf(await person.visit(applications), 'next-page'), url)
    const own = next.searchParams.get('after') ?? ''
    const all = [...beginning, ...(await shown(`${applications}?after=${own}`))]
    expect([all.length, new Set(all).size]).to.deep.equal([25, 25])
    for (const after of ['nonsense', 'x'.repeat(900), "' or 1=1 --"]) {
      const address = `${applications}?${new URLSearchParams({ after })}`
      expect(await shown(address), after).to.deep.equal(beginning)
    }
    const audit = '/admin/northlight/audit'
    const entries = await shown(audit)
    expect(entries).to.not.deep.equal([])
    for (const after of [own, '%20'])
      expect(await shown(`${audit}?after=${after}`)).to.deep.equal(entries)
  })
})
