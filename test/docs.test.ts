import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { makeAdminSchema } from '../src/api/admin-api/admin-api.ts'
import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { environmentVariables } from '../src/config/environment.ts'
import { readApiDocument, renderApiDocument, withoutChance } from '../tools/docs/api-documents.ts'
import { operationsOf } from './support/schema-walk.ts'
import { sharedService } from './support/storages.ts'

const known = Object.keys(environmentVariables.shape)
const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const all = (text: string, form: RegExp) => [...text.matchAll(form)].map(([, group = '']) => group)

describe('docs of the GraphQL APIs', () => {
  for (const api of ['member', 'admin'] as const) {
    it(`show the real responses of the ${api} API, one for each request`, async () => {
      const { text, requests } = readApiDocument(api)
      expect(requests).to.have.length(all(text, /```(graphql)/g).length)
      expect(withoutChance(await renderApiDocument(api))).to.equal(withoutChance(text))
    })
  }

  it('show every query, mutation and field of the viewer of the member API [Not shown 2]', () => {
    const schema = makeMemberSchema()
    const words = readApiDocument('member').requests.join(' ').split(/\W+/)
    const viewer = schema.getType('Viewer')
    const fields = viewer && 'getFields' in viewer ? Object.keys(viewer.getFields()) : []
    const operations = operationsOf(schema).map(({ field }) => field.name)
    expect(words).to.include.members([...operations, ...fields])
  })

  it('name every operation of the admin API [Not shown 9]', () => {
    const text = read('docs/reference/scopes.md')
    const names = operationsOf(makeAdminSchema()).map(({ field }) => field.name)
    expect(names.filter((name) => !text.includes(`\`${name}\``))).to.deep.equal([])
  })
})

describe('docs/how-to/register-a-client.md', () => {
  const service = sharedService()
  const text = read('docs/how-to/register-a-client.md')
  const example =
    /```sh\ncurl http:\/\/127\.0\.0\.1:3000(\S+) \\\n {2}-H 'Content-Type: (\S+)' \\\n {2}-d '([^\n]*)'\n```\n\n```json\n(\d{3})\n(.*?)\n```/gs

  it('shows the real responses, one for each request', async () => {
    const examples = [...text.matchAll(example)]
    expect([examples.length, all(text, /```(sh)/g).length]).to.deep.equal([3, 3])
    for (const [, path = '', type = '', body = '', status, answer = ''] of examples) {
      const headers = { 'content-type': type }
      const response = await fetch(service().url + path, { method: 'POST', headers, body })
      expect(String(response.status), body).to.equal(status)
      const received = (await response.text())
        .replace(/"loopback_[^"]+"/, '"<id>"')
        .replace(/(?<="client_id_issued_at":)\d+/, '"<time>"')
      const expected = answer.replaceAll('http://127.0.0.1:3000', service().url)
      expect(JSON.parse(received), body).to.deep.equal(JSON.parse(expected))
    }
  })

  it('names the configured limits', () => {
    const { registration } = service().config.service
    expect(registration).to.include({
      ...{ registrationWindowSeconds: 600, idleClientSeconds: 90 * 86_400 },
      ...{ callbacksPerPlatformMax: 10_000, unusedCallbackSeconds: 86_400 },
      idleCallbackSeconds: 180 * 86_400,
    })
    expect(text)
      .to.include(`more than ${registration.registrationsPerAddressMax} registrations`)
      .and.include('at most 10,000 such URIs')
  })
})

describe('docs/how-to/production.md', () => {
  const text = read('docs/how-to/production.md')
  const block = (language: string, start = '') =>
    new RegExp(`\`\`\`${language}\\n(${start}[\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? ''

  it('sets environment variables that the service reads', () => {
    const set = all(block('sh', 'BASE_URL='), /^([A-Z0-9_]+)=/gm)
    const inPods = all(text, /\{ name: ([A-Z0-9_]+), value/g)
    expect(set).to.have.length.above(10)
    expect(inPods).to.have.length.above(2)
    expect(known).to.include.members([...set, ...inPods])
  })

  it('keeps every host in use behind nginx, so that a rolling restart causes no 502', () => {
    const nginx = block('nginx')
    expect(all(nginx, /^ {2}server \S+(.*);$/gm)).to.deep.equal([' max_fails=0', ' max_fails=0'])
    expect(nginx)
      .to.include('proxy_next_upstream error timeout;')
      .and.include('proxy_set_header Host $http_host;')
      // The Location header repeats a state of up to 4096 characters.
      .and.include('proxy_buffer_size 16k;')
      .and.include('large_client_header_buffers 4 16k;')
  })

  it('gives the service time to stop', () => {
    const unit = block('ini')
    expect(unit).to.include('KillMode=mixed')
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1])).to.be.above(13)
    expect(Number(/terminationGracePeriodSeconds: (\d+)/.exec(text)?.[1])).to.be.above(5 + 13)
  })
})

describe('the container', () => {
  const dockerfile = read('Dockerfile').replaceAll(/\\\n/g, '')

  it('copies existing files that .dockerignore admits', () => {
    const admitted = read('.dockerignore').split('\n')
    const copied = all(dockerfile, /^COPY (?!--from)(.+) \S+$/gm).flatMap((line) => line.split(' '))
    expect(copied).to.include.members(['package.json', 'config', 'views', 'src'])
    expect(copied.filter((source) => !existsSync(join(root, source)))).to.deep.equal([])
    expect(admitted).to.include.members(copied.map((source) => `!${source}`))
  })

  it('sets only variables that the service reads', () => {
    const image = all(/^ENV (.+)$/m.exec(dockerfile)?.[1] ?? '', /([A-Z0-9_]+)=/g)
    const service = /\n {4}environment:\n((?: {6}.*\n)+)/.exec(read('compose.yaml'))?.[1] ?? ''
    const names = [...image, ...all(service, /^ {6}([A-Z0-9_]+):/gm)]
    // The image sets HOST and PORT. compose.yaml has no Redis cluster and no conformance profile.
    const decided = ['HOST', 'PORT', 'REDIS_CLUSTER_NODES', 'CONFORMANCE_PROFILE']
    expect(names).to.include.members(known.filter((name) => !decided.includes(name)))
    const others = ['NODE_ENV', 'NODE_COMPILE_CACHE', 'MALLOC_ARENA_MAX']
    expect(names.filter((name) => !known.includes(name))).to.deep.equal(others)
  })

  it('runs the start command of package.json, not as root', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const [command = '[]'] = all(dockerfile, /^CMD (.+)$/gm)
    const start = scripts.start.replace('$([ ! -f .env ] || echo --env-file=.env) ', '')
    const words = JSON.parse(command).join(' ')
    expect(start).to.match(new RegExp(`exec ${words}$`))
    const unit = read('docs/how-to/production.md')
    expect(unit).to.include(`ExecStart=/usr/bin/${words}\n`)
    const arenas = all(start + dockerfile + unit, /(MALLOC_ARENA_MAX=\d+)\s/g)
    expect(arenas).to.deep.equal(Array(3).fill('MALLOC_ARENA_MAX=1'))
    expect(dockerfile).to.match(/^USER [1-9]\d*:[1-9]\d*$/m)
  })

  // [threat 41]
  it('installs exactly the packages whose digests are locked, and runs none of their scripts', () => {
    const { packages } = JSON.parse(read('package-lock.json'))
    const open = Object.keys(packages).filter((path) => path !== '' && !packages[path].integrity)
    expect(open).to.deep.equal([])
    expect(dockerfile).to.match(/^RUN npm ci .*--ignore-scripts/m)
  })
})
