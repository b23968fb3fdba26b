import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { parse as parseToml } from 'smol-toml'

import { assistantTable, placeholders, schemesOf } from '../src/config/assistant-table.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import {
  callbacksOf,
  canReturnTo,
  instructionOf,
  isOwnCallback,
  operatorSteps,
  type Values,
} from '../src/pages/assistants/connect-steps.ts'
import type { InstructionView } from '../views/connect-steps.ts'
import { matchesIn } from './support/page-person.ts'
import { expectText } from './support/wire.ts'

const readRepository = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')

const rows: unknown[] = JSON.parse(readRepository('config/assistants.json'))
const assistants = assistantTable.parse(rows)

const plain: Values = {
  url: 'https://school.example/mcp/member',
  clientId: 'app_0123456789abcdef01234567',
  server: 'northlight',
  site: 'Northlight Academy',
  scopes: scopeNames('member'),
}

/** Each part of this text ends a string or starts a command in some format. */
const hostile =
  '"\'`;$(touch /tmp/x)\\{url}{client_id}]]\n[evil]\u007f\u2028</pre><script>&config=%22 ünï 🎓'
const evil: Values = {
  url: `https://school.example/${encodeURIComponent(hostile)}`,
  clientId: `app ${hostile}`,
  server: `north ${hostile}`,
  site: hostile,
  scopes: [`account ${hostile}`, 'b'],
}

const command = (text: string) => ({ kind: 'command', title: 'x', lines: [text.split(' ')] })
const withClient = command('{url} {client_id}')
const callback = (uri: string) => ({ uri, source: 'https://a.example/', read: '2026-11-22' })

describe('the table of assistants (config/assistants.json)', () => {
  for (const [what, change, where] of [
    ['an unknown placeholder', { member: [command('{url} {client_id} {secret}')] }, 'member'],
    ['an instruction for members without client_id', { member: [command('{url}')] }, 'member'],
    ['an instruction for operators with client_id', { operator: [withClient] }, 'operator'],
    ['a callback that is not a URL', { callbacks: [callback('nowhere')] }, 'callbacks'],
    ['an unknown kind', { member: [{ kind: 'script', title: 'x' }] }, 'member'],
    ['an unknown field', { secret: 'x' }, ''],
  ] as const) {
    it(`refuses ${what}`, () => {
      const { error } = assistantTable.safeParse([{ ...(rows[0] as object), ...change }])
      expect(error?.issues.map(({ path }) => path[1] ?? '')).to.include(where)
    })
  }

  it('refuses a duplicate id', () => {
    expect(assistantTable.safeParse([rows[0], rows[0]]).success).to.equal(false)
  })
})

it('docs/how-to/connect-an-assistant.md lists every assistant, kind of instruction and placeholder', () => {
  const text = readRepository('docs/how-to/connect-an-assistant.md')
  const [, table = ''] = text.split('### What is known about the assistants\n')
  const names = matchesIn(table, /^\| (?!assistant|---)([^|]+?) \|/gm)
  expect(names).to.deep.equal(assistants.map(({ name }) => name))
  const ways = assistants.flatMap(({ member, operator }) => [...member, ...operator])
  expectText(text, ...ways.map(({ kind }) => `| \`${kind}\` |`))
  expectText(text, ...placeholders.map((name) => `\`{${name}}\``))
})

describe('the instructions of an assistant', () => {
  for (const assistant of assistants) {
    for (const audience of ['member', 'operator'] as const) {
      for (const [index, way] of assistant[audience].entries()) {
        const which = `${assistant.name}, ${audience} ${index + 1} (${way.kind})`

        it(`${which} are well-formed, and contain the values of the site unchanged, also hostile ones`, () => {
          const instruction = instructionOf(way, plain)
          expect(textOf(instruction)).not.to.match(/\{[a-z_]+\}/)
          expect(JSON.stringify(instruction)).not.to.include('undefined')
          const expected = shapeOf(read(way, instruction), plain)
          expect(shapeOf(read(way, instructionOf(way, evil)), evil)).to.deep.equal(expected)
        })
      }
    }
  }

  it('give the server a plain name for any slug', () => {
    const serverOf = (slug: string) => {
      const steps = operatorSteps(named('codex'), { name: 'x', slug }, 'https://a.example/', [])
      const [first] = steps.instructions
      return first?.kind === 'snippet' ? first.text.split(' ')[3] : undefined
    }
    expect(serverOf('open-kitchen')).to.equal('open-kitchen-admin')
    expect(serverOf(hostile)).to.match(/^[a-z0-9-]+-admin$/)
    expect(serverOf('--')).to.equal('school-admin')
    expect(serverOf('a'.repeat(80))).to.have.length(36)
  })
})

describe('the callbacks of an assistant', () => {
  const isOwn = (id: string, uri: string) => {
    const { ownCallback } = named(id)
    return ownCallback && isOwnCallback(ownCallback, uri)
  }

  it('leave out loopback hosts that a deployment does not admit, and use no private-use scheme except that of Cursor', () => {
    expect(callbacksOf(named('cursor'), ['127.0.0.1'])).to.deep.equal([
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ])
    expect(callbacksOf(named('cursor'), ['127.0.0.1', '[::1]', 'localhost'])).to.have.length(3)
    expect(schemesOf(assistants)).to.deep.equal(['cursor:'])
  })

  it('have one variable segment where they differ per connection', () => {
    const base = 'https://chatgpt.com/connector/oauth/'
    expect(isOwn('chatgpt', `${base}OUbdUMlL15Ct`)).to.equal(true)
    const segments = ['', 'a/b', 'a?x=1', 'a#x', '..', '%2e%2e', 'a b', 'a'.repeat(129)]
    for (const other of [
      ...segments.map((segment) => base + segment),
      'https://chatgpt.com.evil.example/connector/oauth/a',
      'https://chatgpt.com@evil.example/connector/oauth/a',
      'http://chatgpt.com/connector/oauth/a',
      'https://chatgpt.com/connector/OAUTH/a',
    ]) {
      expect(isOwn('chatgpt', other), other).to.equal(false)
    }
  })

  it('may be on any host if people run the assistant themselves', () => {
    const own = 'https://chat.school.example/api/mcp/northlight/oauth/callback'
    expect(isOwn('librechat', own)).to.equal(true)
    for (const other of [
      'https://chat.school.example/api/mcp/a/b/oauth/callback',
      'https://user@chat.school.example/api/mcp/a/oauth/callback',
      'http://chat.school.example/api/mcp/a/oauth/callback',
      'https://Chat.school.example/api/mcp/a/oauth/callback',
    ])
      expect(isOwn('librechat', other), other).to.equal(false)
  })

  it('have a prefix in `connections` if they differ per connection; so do those of n8n', () => {
    for (const { ownCallback, connections } of assistants) {
      const [begin = ''] = ownCallback?.pattern.split('{') ?? []
      if (begin.length > 'https://'.length) expect(connections).to.include(begin)
    }
    const { connections, callbacks } = named('n8n')
    const shared = connections.map((begin) => `${begin}oauth2/callback`)
    expect(shared).to.deep.equal(callbacks.map(({ uri }) => uri))
  })

  it('show which assistants an application can connect, with any port of a native one', () => {
    const idsFor = (redirectUris: string[], applicationType: 'web' | 'native' = 'native') =>
      assistants
        .filter((each) => canReturnTo(each, { redirectUris, applicationType }))
        .map(({ id }) => id)
    const loopback = ['http://127.0.0.1:4000/mcp/oauth/callback']
    expect(idsFor(loopback)).to.deep.equal(['opencode', 'cline'])
    expect(idsFor(loopback, 'web')).to.deep.equal([])
    expect(idsFor(['https://claude.ai/api/mcp/auth_callback'], 'web')).to.deep.equal(['claude'])
    expect(idsFor(['https://chatgpt.com/connector/oauth/abc'], 'web')).to.deep.equal(['chatgpt'])
    expect(idsFor(['https://app.example/callback'])).to.deep.equal([])
  })
})

function named(id: string) {
  const found = assistants.find((each) => each.id === id)
  if (!found) throw new Error(`there is no ${id}`)
  return found
}

function textOf(instruction: InstructionView): string {
  if (instruction.kind === 'steps')
    return instruction.steps.map(({ value }) => value ?? '').join('\n')
  return instruction.kind === 'snippet' ? instruction.text : instruction.href
}

function read(way: Parameters<typeof instructionOf>[0], instruction: InstructionView): unknown {
  if (instruction.kind === 'steps') return instruction.steps.map(({ value }) => value ?? null)
  const text = textOf(instruction)
  if (way.kind === 'command') return text.split('\n').map(shellWords)
  if (way.kind === 'json') return JSON.parse(text)
  if (way.kind === 'toml') return parseToml(text)
  return way.kind === 'link' ? readLink(text, way.encoding) : text.split('\n').length
}

function shellWords(line: string): string[] {
  const script = `words() { for word in "$@"; do printf '%s\\0' "$word"; done; }\nwords ${line}`
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
}

function readLink(href: string, encoding: 'json' | 'base64') {
  const { protocol, hash, search } = new URL(href)
  expect(hash).to.equal('')
  if (encoding === 'json')
    return { protocol, content: JSON.parse(decodeURIComponent(search.slice(1))) }
  const { config = '', ...rest } = Object.fromEntries(new URLSearchParams(search))
  // An unencoded plus sign would become a space.
  expect(config).to.match(/^[A-Za-z0-9+/=]+$/)
  return { protocol, ...rest, content: JSON.parse(Buffer.from(config, 'base64').toString()) }
}

function shapeOf(found: unknown, values: Values): unknown {
  const names = new Map<string, string>()
  for (const [name, value] of Object.entries(values)) {
    const texts = Array.isArray(value) ? [value.join(' '), ...value] : [value]
    for (const [index, text] of texts.entries()) {
      names.set(text, `<${name} ${index}>`)
      // In commands, a space replaces control characters, because a line break would start another command.
      names.set(text.replace(/\p{Cc}+/gu, ' '), `<${name} ${index}>`)
    }
  }
  const nameOf = (text: string) => names.get(text) ?? text
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return nameOf(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [nameOf(key), walk(each)]))
  }
  return walk(found)
}
