import { type Code, type Family, type Issued, Ledger } from './faults/ledger.ts'
import { MARKUP } from './fuzz/texts.ts'
import { judge } from './fuzz/wire.ts'

const issued = (name: string): Issued => ({ accessToken: `a ${name}`, refreshToken: `r ${name}` })

function begin() {
  const ledger = new Ledger()
  const code: Code = { grant: 0, code: 'code', issuedAtMs: 0 }
  const family = ledger.exchanged(code, issued('1')) as Family
  const refreshed = (used: string, name: string, sentAtMs = 10) =>
    ledger.refreshed(family, { used, issued: issued(name), sentAtMs, nowMs: sentAtMs })
  const revoke = () => {
    family.revoking = true
    ledger.revoked(family, 40)
  }
  return { ledger, code, family, refreshed, revoke }
}

// A wrong ledger or judge would make `npm run test:faults` or `test:fuzz` pass without testing anything.
it('the ledger of test/faults finds each fault, and nothing in a good run', () => {
  type Story = (begun: ReturnType<typeof begin>) => unknown
  const stories: [string, Story][] = [
    ['lost', ({ ledger, family }) => ledger.judged(family, false, 20)],
    ['lost', ({ ledger, family }) => ledger.refused(family, 'invalid_grant')],
    ['lost', ({ ledger }) => ledger.codeLost('invalid_grant')],
    ['doubled', ({ ledger, code }) => ledger.exchanged(code, issued('2'))],
    ['doubled', ({ refreshed }) => ['2', '3'].map((name) => refreshed('r 1', name))],
    ['doubled', ({ ledger }) => ledger.replayed('refresh token', 200)],
    ['undone', ({ ledger, family, revoke }) => [revoke(), ledger.judged(family, true, 50)]],
    ['undone', ({ refreshed, revoke }) => [revoke(), refreshed('r 1', '2', 50)]],
    ['', ({ refreshed }) => ['2', '2'].map((name) => refreshed('r 1', name))],
    ['', ({ ledger, family, revoke }) => [revoke(), ledger.judged(family, false, 50)]],
    ['', ({ ledger, family, revoke }) => [revoke(), ledger.judged(family, true, 30)]],
    ['', ({ ledger, family, revoke }) => [revoke(), ledger.refused(family, 'invalid_grant')]],
    ['', ({ ledger }) => ledger.replayed('code', 400)],
  ]
  for (const [position, [fault, story]] of stories.entries()) {
    const begun = begin()
    story(begun)
    const found = begun.ledger.found.map((one) => one.fault)
    expect(found, String(position)).to.deep.equal(fault === '' ? [] : [fault])
  }
})

it('the fuzzer finds faults, hangs, headers and markup of the caller, but no escaped markup and no JSON', () => {
  const html = { 'content-type': ['text/html'] }
  const good = { status: 200, headers: html, text: '<p>', tookMs: 1 }
  const escaped = MARKUP.replaceAll(/["'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  const headers = { 'content-type': ['application/json'] }
  const json = { headers, text: JSON.stringify(MARKUP) }
  for (const seen of [{}, { text: escaped }, json])
    expect(judge({ ...good, ...seen })).to.equal(undefined)
  const wrong: [object, RegExp][] = [
    [{ status: 503 }, /^503/],
    [{ tookMs: 2001 }, /^2001 ms$/],
    [{ headers: { ...html, 'x-mk7': ['1'] } }, /header/],
    [{ text: `<p>${MARKUP}` }, /markup/],
    [{ text: `<p title="mk7"` }, /markup/],
    [{ text: `<p>&quot;<u mk7>` }, /markup/],
  ]
  for (const [seen, found] of wrong) expect(judge({ ...good, ...seen })).to.match(found)
})
