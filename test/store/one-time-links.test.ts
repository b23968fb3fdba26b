import { createLink, makeOneTimeLinks } from '../../src/directory/people/one-time-links.ts'
import { withEveryDatabase } from '../support/database.ts'

const address = { email: 'Ada@x.example', emailCanonical: 'ada@x.example' }
const asked = { kind: 'recovery', ...address, livesSeconds: 60 } as const
const nowMs = 1000
const links = makeOneTimeLinks([Buffer.alloc(32, 1)])

withEveryDatabase('one-time links', (open) => {
  it('rejects a token of another kind, row or secret, or with one character changed [241, 252]', async () => {
    const { kysely } = await open()
    const id = await createLink(kysely, asked, nowMs)
    const token = links.tokenOf({ kind: 'recovery', id })
    const flipped = token.at(-2) === 'A' ? 'B' : 'A'
    const kinds = ['invitation', 'address', 'deletion'] as const
    const forged = [
      ...kinds.map((kind) => links.tokenOf({ kind, id })),
      makeOneTimeLinks([Buffer.alloc(32, 2)]).tokenOf({ kind: 'recovery', id }),
      `other.${token.split('.')[1]}`,
      `${token.slice(0, -2)}${flipped}${token.at(-1)}`,
      id,
      `${id}.`,
      '',
    ]
    for (const each of forged)
      expect(await links.find(kysely, 'recovery', { token: each, nowMs }), each).to.equal(undefined)
    for (const kind of kinds)
      expect(await links.find(kysely, kind, { token, nowMs }), kind).to.equal(undefined)
    const rotated = makeOneTimeLinks([Buffer.alloc(32, 2), Buffer.alloc(32, 1)])
    expect(await rotated.find(kysely, 'recovery', { token, nowMs })).to.include({ id })
  })
})
