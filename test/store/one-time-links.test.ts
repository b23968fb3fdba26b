import { createLink, makeOneTimeLinks } from '../../src/directory/people/one-time-links.ts'
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
})
