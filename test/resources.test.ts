import fc from 'fast-check'

import { makeResources } from '../src/oauth/token/resource-indicators.ts'

const areas = () => ['courses', 'posts', 'students']

const tables: Readonly<Record<string, readonly string[]>> = {
  'https://id.campus.example': [
    ...['https://id.campus.example', 'HTTPS://ID.Campus.EXAMPLE'],
    ...['https://id.campus.example:443', 'Https://Id.campus.example:443'],
  ],
  'https://id.campus.example:8443': [
    ...['https://id.campus.example:8443', 'HTTPS://ID.CAMPUS.EXAMPLE:8443'],
  ],
  'http://127.0.0.1:3000': ['http://127.0.0.1:3000', 'HTTP://127.0.0.1:3000'],
  'http://localhost': ['http://localhost', 'http://LOCALHOST:80'],
  'http://[::1]:3000': ['http://[::1]:3000'],
}
const suffixes = [
  ...['', '/', '/mcp', '/member/graphql'],
  ...['/mcp/admin/change/posts', '/mcp/admin/change/courses.students'],
]

describe('resources: accepted spellings of the origin (design 3)', () => {
  for (const [base, origins] of Object.entries(tables)) {
    const { audience, canonical } = makeResources(base, areas)
    for (const resource of origins.flatMap((origin) => suffixes.map((path) => origin + path))) {
      it(`${resource} is ${base}`, () => {
        expect([canonical(resource), audience]).to.deep.equal([base, base])
      })
    }
  }
})

describe('resources: foreign ones', () => {
  const base = 'https://id.campus.example'
  const { canonical } = makeResources(base, areas)
  const foreign = [
    ...['', 'id.campus.example', '//id.campus.example', 'http://id.campus.example'],
    ...['https://id.campus.example:8443', 'https://id.campus.example:0443'],
    ...['https://www.id.campus.example', 'https://id.campus.example.'],
    'https://id.campus.example.evil.example',
    ...['https://evil.example/https://id.campus.example'],
    ...['https://evil.example#https://id.campus.example'],
    ...['https://id.campus.example@evil.example', 'https://user@id.campus.example'],
    ...['https://@id.campus.example', 'https://user:pw@id.campus.example', 'mcp'],
    ...[`${base}#`, `${base}#fragment`, `${base}?`],
    ...[`${base}/?x=1`, `${base}//`, `${base}/mcp/`, `${base}/MCP`, `${base}/mcp/more`],
    ...['', 'nothing', 'students,courses', 'posts,posts', 'courses,', 'Posts', 'posts?x=1'].map(
      (text) => `${base}/mcp/admin/change/${text}`,
    ),
    ...[`${base}/member`, `${base}/member/graphql/`, `${base}/%6dcp`, `${base}/./mcp`],
    ...[`${base}/x/../mcp`, `${base}\\mcp`, 'https:id.campus.example', 'https:/id.campus.example'],
    ...['https:///id.campus.example', 'https:\\\\id.campus.example'],
    ...['https://id.campus.ex%61mple', 'https://id\u3002campus\u3002example'],
    ...['https://\uff49d.campus.example', ` ${base}`, `${base} `, `\u0001${base}`],
    ...[`${base}\u0000`, 'https://id.cam\npus.example', 'https://id.cam\tpus.example'],
    ...[`${base}/mcp\n`, `${base} ${base}`, 'urn:gatehouse', 'javascript:alert(1)', '__proto__'],
  ]
  for (const resource of foreign) {
    it(`${JSON.stringify(resource)} is foreign`, () => {
      expect(canonical(resource)).to.equal(undefined)
    })
  }

  it('letters with the same case folding and other notations of an IP address are foreign', () => {
    const kelvin = makeResources('https://kiosk.example', areas)
    expect(kelvin.canonical('https://KIOSK.example')).to.equal('https://kiosk.example')
    expect(kelvin.canonical('https://\u212aiosk.example')).to.equal(undefined)
    expect(kelvin.canonical('https://kio\u017fk.example')).to.equal(undefined)
    const local = makeResources('http://127.0.0.1:3000', areas)
    const hosts = ['127.1', '0x7f.0.0.1', '2130706433', 'localhost', '[::ffff:127.0.0.1]']
    for (const host of [...hosts, '127.0.0.2'])
      expect(local.canonical(`http://${host}:3000`), host).to.equal(undefined)
  })

  it('never throws, and accepts only the listed spellings', () => {
    const listed = new Set(suffixes.flatMap((path) => [base + path, `${base}:443${path}`]))
    const part = fc.constantFrom(
      ...['https:', 'http:', '//', '/', ':443', 'id.campus.example', 'evil.example', '@', '#', '?'],
      ...['mcp', 'member/graphql', '.', '..', '%2e', '\\', '\t', ' ', '\0', 'ID.CAMPUS.EXAMPLE'],
    )
    const anything = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.webUrl(),
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
      fc.tuple(fc.constantFrom(...listed), fc.string({ maxLength: 2 })).map((two) => two.join('')),
    )
    fc.assert(
      fc.property(anything, (resource) => {
        const found = canonical(resource)
        const [, origin = '', path = ''] = /^(https:\/\/[^/]*)(.*)$/is.exec(resource) ?? []
        expect(found).to.equal(listed.has(origin.toLowerCase() + path) ? base : undefined)
      }),
      { numRuns: 20_000 },
    )
  })
})
