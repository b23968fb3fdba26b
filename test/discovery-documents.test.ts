import { createServer } from 'node:http'

import Koa from 'koa'

import { authMd } from '../src/api/discovery/auth-md.ts'
import { cacheDocuments } from '../src/api/discovery/cached-documents.ts'
import { openApiDocument } from '../src/api/discovery/openapi-document.ts'
import { protectedResourceMetadata } from '../src/api/discovery/protected-resource.ts'
import { fillTemplate } from '../src/api/discovery/template.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { facts, strictFacts } from './support/facts.ts'
import { listen } from './support/listen.ts'
import { matchesIn } from './support/page-person.ts'
import { get, type Json } from './support/wire.ts'

const base = facts.baseUrl

const documentPaths = [
  paths.protectedResource,
  `${paths.protectedResource}/mcp`,
  `${paths.protectedResource}/member/graphql`,
  paths.authMd,
  paths.openApi,
]

// [RFC 9728 §2; RFC 9728 §3.2; RFC 9728 §3.3; Discovery 2.1; Discovery 2.2]
// [MCP Authorization §Authorization Server Location; MCP Authorization §Refresh Tokens]
describe('protected-resource metadata (RFC 9728)', () => {
  for (const [kind, path, resource_name, scopes_supported] of [
    ['origin', '', 'Campus', scopeNames()],
    ['mcp', '/mcp', 'Campus tools', ['openid', 'profile', 'email']],
    ['graphql', '/member/graphql', 'Campus Member API', ['account:read', 'account:write']],
  ] as const) {
    it(`of ${path || 'the origin'} has its name and scopes`, () => {
      expect(protectedResourceMetadata(facts, kind)).to.deep.equal({
        ...{ resource: base + path, resource_name, scopes_supported },
        authorization_servers: [base],
        bearer_methods_supported: ['header'],
        resource_documentation: `${base}/auth.md`,
      })
    })
  }
})

describe('auth.md', () => {
  const text = authMd(facts)
  const strict = authMd(strictFacts)

  // [What the service does 3; Discovery 6]
  it('has a heading with auth.md and the six steps in order', () => {
    expect(headings(text, 1)).to.deep.equal(['Campus auth.md'])
    expect(headings(text, 2)).to.deep.equal([
      ...['1. Discover', '2. Pick a method', '3. Register', '4. Use the credential'],
      ...['5. Handle errors', '6. Revoke', 'Limits', 'Scopes'],
    ])
  })

  it('has a row for every scope of the catalogue and names no other', () => {
    for (const name of scopeNames()) expect(text).to.include(`| \`${name}\` |`)
    expect(strangers(text)).to.deep.equal([])
  })

  for (const [title, ...parts] of [
    ['what operator scopes open', '| `coupons:read` | read | coupons | `/admin/api/coupons` |'],
    ['which scopes open nothing', '| `coupons:write` | write | coupons | nothing here yet |'],
    ['to fetch discovery', 'Fetch the documents directly, without a token. Do not wait for a 401'],
    [
      'that agent authentication is unsupported',
      ...['agent_auth', 'identity_assertion', 'service_auth', 'identity_endpoint'],
      'unsupported_grant_type',
    ],
    [
      'every configured lifetime',
      '| authorization code | 1 minute |',
      '| access token | 1 hour |',
      '| id_token | 10 minutes |',
      '| refresh token, unused | 30 days |',
      '| refresh tokens of one authorization, in all | 90 days |',
      '| these documents, in a cache | 5 minutes |',
      'within 10 seconds',
    ],
  ]) {
    it(`says ${title} [Discovery 9; What the service does 15]`, () => {
      for (const part of parts) expect(text).to.include(part)
    })
  }

  it('describes localhost, metadata documents and platforms as configured', () => {
    expect(text).to.include('`localhost` is accepted')
    expect(text).to.include(
      'Documents of these hosts or URLs are accepted: `claude.ai` and `vscode.dev`.',
    )
    expect(text).to.include('`client_name`, which is `Claude` or `Cursor`')
    expect(text).to.include('have separate names: `Cursor Nightly`.')
    const metadataDocuments = { sources: [], openRegistration: true }
    const open = { ...facts, service: { ...facts.service, metadataDocuments } }
    expect(authMd(open)).to.include('any host are accepted')
    expect(strict).to.include('`localhost` is not accepted')
    expect(strict).to.include('- Client ID Metadata Documents.')
    const ofOthers = /client_id_metadata_document_supported|known platform|same response/i
    expect(strict).not.to.match(ofOthers)
  })

  it('has no placeholder and no superfluous blank', () => {
    for (const document of [text, strict]) {
      expect(document).not.to.match(/undefined|null|\[object|\n\n\n| \n/)
      expect(document).to.match(/[.|]\n$/)
    }
  })

  it('shows bodies that are JSON', () => {
    const bodies = matchesIn(text, / -d '(\{.*\})'/g)
    expect(bodies).to.have.length(4)
    for (const body of bodies) expect(() => JSON.parse(body)).not.to.throw()
  })

  it('names only paths of the service', () => {
    const known = [...Object.values(paths), ...documentPaths, '', '/', pages.connectHome]
    const named = matchesIn(text, /https:\/\/id\.campus\.example([^\s`"\\]*)/g)
    expect(known).to.include.members(named)
  })
})

describe('a template of a document', () => {
  it('keeps a section if its name has a value, an inverted section if not, and does not expand placeholders in values', () => {
    const template =
      'one\n{{#more}}\n{{^last}}\ntwo\n{{/last}}\n{{/more}}\n{{last}}{{#more}}!{{/more}}'
    expect(fillTemplate(template, { more: true, last: '' })).to.equal('one\ntwo\n!')
    expect(fillTemplate(template, { more: true, last: 'x' })).to.equal('one\nx!')
    expect(fillTemplate(template, { more: false, last: 'x' })).to.equal('one\nx')
    expect(fillTemplate('{{a}} {{b}}', { a: '{{b}}', b: '$& $1' })).to.equal('{{b}} $& $1')
  })

  for (const [template, problem] of [
    ['{{a}} {{b}}', 'no value for b'],
    ['{{#b}}{{/b}}', 'no value for b'],
    ['{{toString}}', 'no value for toString'],
    ['', 'does not use a'],
    ['{{#a}}x', '{{#a}} is not closed'],
    ['x{{/a}}', '{{/a}} is not closed'],
  ] as const)
    it(`is refused: ${problem}`, () => {
      expect(() => fillTemplate(template, { a: 'x' })).to.throw(problem)
    })
})

describe('openapi.json', () => {
  const document: Json = openApiDocument(facts)

  // [Discovery 5; Not shown 10; Not shown 15]
  it('describes every path of the table and no other', () => {
    const spelled = Object.values(paths).map((path) => path.replace(/:(\w+)/, '{$1}'))
    const expected = [...new Set([...spelled, ...documentPaths])]
    expect(Object.keys(document.paths)).to.have.members(expected)
  })

  it('offers every scope of the catalogue and names no other', () => {
    const { scopes } = document.components.securitySchemes.oauth.flows.authorizationCode
    expect(Object.keys(scopes)).to.deep.equal(scopeNames())
    expect(strangers(JSON.stringify(document))).to.deep.equal([])
  })

  it('describes 503 without a challenge, because 503 says nothing about the token', () => {
    expect(document.components.responses.ServiceUnavailable.headers).to.have.all.keys('Retry-After')
  })
})

it('cacheDocuments asks the engine once, repeats the same bytes, and does not change other responses', async () => {
  const app = new Koa()
  let asked = 0
  app.use(cacheDocuments(new Set([paths.jwks, paths.openidConfiguration]), 60))
  app.use((ctx) => {
    if (ctx.path !== paths.jwks || ctx.method !== 'GET') return
    asked += 1
    ctx.vary('Origin')
    ctx.body = { keys: [] }
  })
  await using server = await listen(createServer(app.callback()))
  const asking = [{ origin: 'https://a.example' }, { origin: 'https://b.example' }, {}]
  const answers = await Array.fromAsync(asking, async (fields) => {
    const { status, headers, text } = await get(server.url + paths.jwks, fields)
    return [status, headers.get('etag'), headers.get('vary'), text]
  })
  const [first] = answers
  expect([answers, asked]).to.deep.equal([[first, first, first], 1])
  const { status, headers } = await get(server.url + paths.openidConfiguration)
  expect([status, headers.has('cache-control')]).to.deep.equal([404, false])
})

function headings(markdown: string, level: number): string[] {
  const text = markdown.replaceAll(/^```[\s\S]*?^```/gm, '')
  return matchesIn(text, new RegExp(`^#{${level}} (.*)$`, 'gm'))
}

function strangers(text: string): string[] {
  const known = new Set(scopeNames())
  return matchesIn(text, /\b([a-z_]+:(?:read|write))\b/g).filter((name) => !known.has(name))
}
