import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import Koa from 'koa'

import { authMd } from '../src/api/discovery/auth-md.ts'
import { keepDocuments } from '../src/api/discovery/cached-documents.ts'
import { discoveryRoutes } from '../src/api/discovery/discovery.ts'
import { openApiDocument } from '../src/api/discovery/openapi-document.ts'
import { protectedResourceMetadata } from '../src/api/discovery/protected-resource.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { facts, strictFacts } from './support/facts.ts'
import { responseValidator } from './support/openapi.ts'

const base = facts.baseUrl

const documentPaths = [
  paths.protectedResource,
  `${paths.protectedResource}/mcp`,
  `${paths.protectedResource}/member/graphql`,
  paths.authMd,
  paths.openApi,
]

describe('protected-resource metadata (RFC 9728)', () => {
  const rest = {
    authorization_servers: [base],
    bearer_methods_supported: ['header'],
    resource_documentation: `${base}/auth.md`,
  }

  // [RFC 9728 §2; RFC 9728 §3.2; RFC 9728 §3.3; Discovery 2.1; Discovery 2.2]
  it('names the origin and the whole catalogue in the root document', () => {
    expect(protectedResourceMetadata(facts, 'origin')).to.deep.equal({
      resource: base,
      resource_name: 'Campus',
      scopes_supported: scopeNames(),
      ...rest,
    })
    expect(scopeNames()).to.have.length(38)
  })

  // [RFC 9728 §2; RFC 9728 §3.3; MCP Authorization §Authorization Server Location;
  // MCP Authorization §Refresh Tokens]
  it('names /mcp and the identity scopes only in the document of the tool endpoint', () => {
    expect(protectedResourceMetadata(facts, 'mcp')).to.deep.equal({
      resource: `${base}/mcp`,
      resource_name: 'Campus tools',
      scopes_supported: ['openid', 'profile', 'email'],
      ...rest,
    })
  })

  it('names /member/graphql and the scopes of a member in the document of the Member API', () => {
    expect(protectedResourceMetadata(facts, 'graphql')).to.deep.equal({
      resource: `${base}/member/graphql`,
      resource_name: 'Campus Member API',
      scopes_supported: ['account:read', 'account:write'],
      ...rest,
    })
  })
})

describe('auth.md', () => {
  const text = authMd(facts)
  const strict = authMd(strictFacts)

  // [What the service does 3; Discovery 6]
  it('opens with a heading that contains auth.md and goes through the six steps in order', () => {
    expect(headings(text, 1)).to.deep.equal(['Campus auth.md'])
    expect(headings(text, 2)).to.deep.equal([
      '1. Discover',
      '2. Pick a method',
      '3. Register',
      '4. Use the credential',
      '5. Handle errors',
      '6. Revoke',
      'Limits',
      'Scopes',
    ])
  })

  it('has a row for every scope of the catalogue and names no other scope', () => {
    for (const name of scopeNames()) expect(text).to.include(`| \`${name}\` |`)
    expect(strangers(text)).to.deep.equal([])
  })

  it('says where a scope of operators opens something in this deployment, and which open nothing', () => {
    expect(text).to.include('| `coupons:read` | read | coupons | `/admin/api/coupons` |')
    expect(text).to.include('| `coupons:write` | write | coupons | nothing here yet |')
  })

  // [Discovery 9]
  it('tells clients to fetch discovery and not to wait for a challenge', () => {
    expect(text).to.match(/Fetch the documents directly, without a token\. Do not wait for a 401/)
  })

  // [What the service does 15]
  it('says that the agent-authentication extension is unsupported', () => {
    for (const word of ['agent_auth', 'identity_assertion', 'service_auth', 'identity_endpoint']) {
      expect(text).to.include(word)
    }
    expect(text).to.include('unsupported_grant_type')
  })

  it('names every lifetime as it is configured', () => {
    expect(text).to.include('| authorization code | 1 minute |')
    expect(text).to.include('| access token | 1 hour |')
    expect(text).to.include('| id_token | 10 minutes |')
    expect(text).to.include('| refresh token, unused | 30 days |')
    expect(text).to.include('| refresh tokens of one authorization, in all | 90 days |')
    expect(text).to.include('| these documents, in a cache | 5 minutes |')
    expect(text).to.include('within 10 seconds')
  })

  it('says whether localhost is a loopback host', () => {
    expect(text).to.include('`localhost` is admitted')
    expect(strict).to.include('`localhost` is not admitted')
  })

  it('promises metadata documents only where they are admitted', () => {
    expect(text).to.include('Documents of these hosts are admitted: `claude.ai` and `vscode.dev`.')
    const metadataDocuments = { hosts: [], openRegistration: true }
    const open = { ...facts, service: { ...facts.service, metadataDocuments } }
    expect(authMd(open)).to.include('any host are admitted')
    expect(strict).to.include('- Client ID Metadata Documents.')
    expect(strict).not.to.include('client_id_metadata_document_supported')
  })

  it('promises known platforms and the repeated refresh only where there are any', () => {
    expect(text).to.include('`client_name`, which is `Claude` or `Cursor`')
    expect(text).to.include('have names of their own: `Cursor Nightly`.')
    expect(strict).not.to.match(/known platform/i)
    expect(strict).not.to.include('same answer')
  })

  it('leaves no blank and no empty line too many', () => {
    for (const document of [text, strict]) {
      expect(document).not.to.match(/undefined|null|\[object|\n\n\n| \n/)
      expect(document.endsWith('.\n') || document.endsWith('|\n')).to.equal(true)
    }
  })

  it('shows bodies that are JSON', () => {
    const bodies = [...text.matchAll(/ -d '(\{.*\})'/g)].map(([, body]) => body ?? '')
    expect(bodies).to.have.length(4)
    for (const body of bodies) expect(() => JSON.parse(body)).not.to.throw()
  })

  it('names only addresses that the service answers', () => {
    const known = new Set<string>([
      ...Object.values(paths),
      ...documentPaths,
      ...['', '/', pages.connectHome],
    ])
    const named = [...text.matchAll(/https:\/\/id\.campus\.example([^\s`"\\]*)/g)]
    expect(named.map(([, path]) => path).filter((path) => !known.has(path ?? ''))).to.deep.equal([])
  })
})

describe('openapi.json', () => {
  const document = openApiDocument(facts)
  const operations = Object.values(document.paths).flatMap(
    (item) => Object.values(item) as { operationId: string; summary: string; tags: string[] }[],
  )

  // [Discovery 5; Not shown 10; Not shown 15]
  it('describes every address of the table and no other', () => {
    const described = Object.keys(document.paths).toSorted()
    const spelled = Object.values(paths).map((path) => path.replace(/:(\w+)/, '{$1}'))
    const expected = [...new Set([...spelled, ...documentPaths])].toSorted()
    expect(described).to.deep.equal(expected)
  })

  it('offers every scope of the catalogue and names no other', () => {
    const { components } = document as unknown as {
      components: {
        securitySchemes: { oauth: { flows: { authorizationCode: { scopes: object } } } }
      }
    }
    const { scopes } = components.securitySchemes.oauth.flows.authorizationCode
    expect(Object.keys(scopes)).to.deep.equal(scopeNames())
    expect(strangers(JSON.stringify(document))).to.deep.equal([])
  })

  it('gives every operation its own id, a summary and a declared tag', () => {
    const ids = operations.map((operation) => operation.operationId)
    expect(new Set(ids).size).to.equal(ids.length)
    const tags = new Set(document.tags.map((tag) => tag.name))
    for (const operation of operations) {
      expect(operation.summary).not.to.equal('')
      expect(operation.tags.every((tag) => tags.has(tag))).to.equal(true)
    }
  })

  it('describes no challenge with 503, which is no verdict about a token', () => {
    const { components } = document as unknown as {
      components: { responses: { ServiceUnavailable: { headers: object } } }
    }
    expect(components.responses.ServiceUnavailable.headers).to.have.all.keys('Retry-After')
  })
})

describe('responseValidator', () => {
  const problems = responseValidator(openApiDocument(facts))

  it('accepts the documents of the service themselves', () => {
    const metadata = protectedResourceMetadata(facts, 'mcp')
    expect(problems(`${paths.protectedResource}/mcp`, 'GET', 200, metadata)).to.deep.equal([])
    expect(problems(paths.authMd, 'GET', 200, authMd(facts))).to.deep.equal([])
    expect(problems(paths.openApi, 'GET', 200, openApiDocument(facts))).to.deep.equal([])
  })

  it('accepts answers as the standards show them', () => {
    const tokens = { access_token: 'a', token_type: 'Bearer', expires_in: 3600, scope: 'openid' }
    const refused = { error: 'invalid_grant', error_description: 'grant request is invalid' }
    const active = { iss: base, sub: 'per_1', client_id: 'c', exp: 2, iat: 1, aud: base }
    expect(problems(paths.token, 'POST', 200, tokens)).to.deep.equal([])
    expect(problems(paths.token, 'POST', 400, refused)).to.deep.equal([])
    expect(problems(paths.introspection, 'POST', 200, { active: false })).to.deep.equal([])
    expect(problems(paths.introspection, 'POST', 200, { active: true, ...active })).to.deep.equal(
      [],
    )
    expect(problems(paths.revocation, 'POST', 200, {})).to.deep.equal([])
  })

  it('names what differs', () => {
    const secret = {
      client_id: 'c',
      redirect_uris: [],
      token_endpoint_auth_method: 'none',
      client_secret: 's',
    }
    expect(problems(paths.registration, 'POST', 201, secret).join()).to.include('client_secret')
    expect(problems(paths.introspection, 'POST', 200, { active: false, sub: 'x' })).not.to.be.empty
    expect(problems(paths.userinfo, 'GET', 200, { email: 'ada@campus.example' })).not.to.be.empty
    const wrong = { error: 'invalid_grant', error_description: '…' }
    expect(problems(paths.userinfo, 'GET', 403, wrong)).not.to.be.empty
    expect(problems(paths.revocation, 'POST', 200, '')).not.to.be.empty
    expect(problems(paths.token, 'POST', 418, {})).to.deep.equal([
      'POST /api/oauth/token 418 is not described',
    ])
  })
})

describe('discovery over HTTP', () => {
  const types: Record<string, string> = { [paths.authMd]: 'text/markdown; charset=utf-8' }

  for (const path of documentPaths) {
    // [RFC 9728 §3; RFC 9728 §3.1; MCP Authorization §Protected Resource Metadata Discovery
    // Requirements]
    // [Discovery 1]
    it(`serves ${path} to anyone, cacheable, with a strong ETag`, async () => {
      await using server = await listening()
      const response = await fetch(`${server.url}${path}`, {
        headers: { origin: 'https://app.example' },
      })
      expect(response.status).to.equal(200)
      expect(response.headers.get('cache-control')).to.equal('public, max-age=300')
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
      expect(response.headers.get('etag')).to.match(/^"[\w-]+"$/)
      expect(response.headers.get('content-type')).to.match(/^(application\/json|text\/markdown)/)
      if (types[path]) expect(response.headers.get('content-type')).to.equal(types[path])
      const body = await response.text()
      expect(Number(response.headers.get('content-length'))).to.equal(Buffer.byteLength(body))
    })

    it(`answers HEAD ${path} with the headers of GET and no body`, async () => {
      await using server = await listening()
      const got = await fetch(`${server.url}${path}`)
      const head = await fetch(`${server.url}${path}`, { method: 'HEAD' })
      expect(head.status).to.equal(200)
      for (const name of ['etag', 'content-length', 'content-type', 'cache-control']) {
        expect(head.headers.get(name), name).to.equal(got.headers.get(name))
      }
      expect(await head.text()).to.equal('')
    })

    it(`answers ${path} with 304 to a caller that holds it`, async () => {
      await using server = await listening()
      const etag = (await fetch(`${server.url}${path}`)).headers.get('etag') ?? ''
      const again = await fetch(`${server.url}${path}`, { headers: { 'if-none-match': etag } })
      expect(again.status).to.equal(304)
      expect(again.headers.get('etag')).to.equal(etag)
      expect(again.headers.get('cache-control')).to.equal('public, max-age=300')
      expect(again.headers.get('access-control-allow-origin')).to.equal('*')
      expect(await again.text()).to.equal('')
      const other = await fetch(`${server.url}${path}`, { headers: { 'if-none-match': '"x"' } })
      expect(other.status).to.equal(200)
    })

    it(`answers the preflight of ${path}`, async () => {
      await using server = await listening()
      const response = await fetch(`${server.url}${path}`, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://app.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'mcp-protocol-version',
        },
      })
      expect(response.status).to.equal(204)
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
      expect(response.headers.get('access-control-allow-methods')).to.equal('GET, HEAD')
      expect(response.headers.get('access-control-allow-headers')).to.equal('*')
    })
  }

  // [Endpoints 1]
  it('builds every address from the configuration and none from the Host header', async () => {
    await using server = await listening()
    const response = await fetch(`${server.url}${paths.protectedResource}`, {
      headers: { 'x-forwarded-host': 'evil.example' },
    })
    expect(await response.json()).to.deep.equal(protectedResourceMetadata(facts, 'origin'))
  })
})

describe('keepDocuments', () => {
  it("gives a later middleware's JSON Cache-Control, an ETag and 304, and keeps its type", async () => {
    await using server = await listening()
    const got = await fetch(`${server.url}${paths.jwks}`)
    expect(got.headers.get('cache-control')).to.equal('public, max-age=60')
    expect(got.headers.get('content-type')).to.equal('application/jwk-set+json; charset=utf-8')
    expect(await got.json()).to.deep.equal({ keys: [] })
    expect(got.headers.get('access-control-allow-origin')).to.equal('*')
    const etag = got.headers.get('etag') ?? ''
    const again = await fetch(`${server.url}${paths.jwks}`, { headers: { 'if-none-match': etag } })
    expect(again.status).to.equal(304)
  })

  it('answers HEAD although the engine knows GET only', async () => {
    await using server = await listening()
    const head = await fetch(`${server.url}${paths.jwks}`, { method: 'HEAD' })
    expect(head.status).to.equal(200)
    expect(head.headers.get('etag')).to.match(/^"/)
    expect(await head.text()).to.equal('')
  })

  it('asks once, and answers everybody with the same bytes from then on', async () => {
    await using server = await listening()
    const answers = []
    for (const origin of ['https://one.example', 'https://other.example', undefined]) {
      const response = await fetch(server.url + paths.jwks, { headers: origin ? { origin } : {} })
      const { headers } = response
      const told = ['etag', 'content-type', 'cache-control', 'vary'].map((name) =>
        headers.get(name),
      )
      answers.push([response.status, told, await response.text()])
    }
    expect(answers[1]).to.deep.equal(answers[0])
    expect(answers[2]).to.deep.equal(answers[0])
    expect((await fetch(server.url + paths.jwks, { method: 'HEAD' })).status).to.equal(200)
    expect(server.asked()).to.equal(1)
  })

  it('leaves every other answer alone', async () => {
    await using server = await listening()
    const response = await fetch(`${server.url}${paths.openidConfiguration}`)
    expect(response.status).to.equal(404)
    expect(response.headers.get('cache-control')).to.equal(null)
    expect(response.headers.get('etag')).to.equal(null)
  })
})

function headings(markdown: string, level: number): string[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```/gm, '')
  return [...prose.matchAll(/^(#+) (.*)$/gm)]
    .filter(([, marks]) => marks?.length === level)
    .map(([, , title]) => title ?? '')
}

/** What looks like a scope and does not stand in the catalogue. */
function strangers(text: string): string[] {
  const known = new Set(scopeNames())
  const named = [...text.matchAll(/\b[a-z_]+:(?:read|write)\b/g)].map(([name]) => name)
  return named.filter((name) => !known.has(name))
}

// Two rules are off. One would have every operation succeed with 2xx, but the answer to an
// authorization request is a redirect. The other wants a 4xx of every operation, but a public
// document that takes no parameters refuses nobody.
/** A bare Koa with the discovery routes, and in place of the engine a key set that answers GET only. */
async function listening() {
  const app = new Koa()
  let asked = 0
  app.use(keepDocuments(new Set([paths.jwks, paths.openidConfiguration]), 60))
  app.use(discoveryRoutes(facts).routes())
  app.use((ctx) => {
    if (ctx.path !== paths.jwks || ctx.method !== 'GET') return
    asked += 1
    ctx.vary('Origin')
    ctx.body = { keys: [] }
    ctx.type = 'application/jwk-set+json; charset=utf-8'
  })
  const server = createServer(app.callback()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    /** How often the engine was asked. */
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
