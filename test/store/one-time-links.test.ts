import {
  createLink,
  findLastLink,
  isForBrowser,
  makeOneTimeLinks,
} from '../../src/directory/people/one-time-links.ts'
import { withEveryDatabase } from '../support/database.ts'

const address = { email: 'Ada@x.example', emailCanonical: 'ada@x.example' }
const asked = { kind: 'recovery', ...address, livesSeconds: 60 } as const
const nowMs = 1000
const links = makeOneTimeLinks([Buffer.alloc(32, 1)])

withEveryDatabase('one-time links', (open) => {
  it('rejects a token of another kind, row or secret [241]', async () => {
    const { kysely } = await open()
    const id = await createLink(kysely, asked, nowMs)
    const token = links.tokenOf({ kind: 'recovery', id })
    const forged = [
      links.tokenOf({ kind: 'invitation', id }),
      makeOneTimeLinks([Buffer.alloc(32, 2)]).tokenOf({ kind: 'recovery', id }),
      `other.${token.split('.')[1]}`,
      id,
      `${id}.`,
      '',
    ]
    for (const each of forged)
      expect(await links.find(kysely, 'recovery', { token: each, nowMs }), each).to.equal(undefined)
    expect(await links.find(kysely, 'invitation', { token, nowMs })).to.equal(undefined)
    const rotated = makeOneTimeLinks([Buffer.alloc(32, 2), Buffer.alloc(32, 1)])
    expect(await rotated.find(kysely, 'recovery', { token, nowMs })).to.include({ id })
  })

  it('admits the browser that asked, and another one with the code, for five attempts', async () => {
    const { kysely } = await open()
    const id = await createLink(kysely, { ...asked, browser: 'mine' }, nowMs)
    const token = links.tokenOf({ kind: 'recovery', id })
    const link = await links.find(kysely, 'recovery', { token, nowMs })
    if (!link) throw new Error('not found')
    const code = links.codeOf(link)
    expect(code).to.match(/^[2-9B-Z]{4}-[2-9B-Z]{4}$/)
    expect([isForBrowser(link, 'mine'), isForBrowser(link, 'other')]).to.deep.equal([true, false])
    const accepts = (typed: string) => links.acceptsCode(kysely, link, typed)
    for (const typed of ['AAAA-AAAA', '', code.slice(1)])
      expect(await accepts(typed)).to.equal(false)
    expect(await accepts(` ${code.toLowerCase()}`)).to.equal(true)
    await accepts('BBBB')
    expect(await accepts(code)).to.equal(false)
  })

  it('finds the latest link that a browser asked for', async () => {
    const { kysely } = await open()
    await createLink(kysely, { ...asked, browser: 'mine' }, nowMs)
    const id = await createLink(kysely, { ...asked, browser: 'mine' }, nowMs + 1)
    await createLink(kysely, { ...asked, browser: 'other' }, nowMs + 2)
    const find = (browser: string) => findLastLink(kysely, 'recovery', { browser, nowMs })
    expect(await find('mine')).to.include({ id })
    expect(await find('none')).to.equal(undefined)
  })
})
