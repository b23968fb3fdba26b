import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { parse as parseToml } from 'smol-toml'

import {
  type Assistant,
  assistantTable,
  placeholders,
  schemesOf,
  type Way,
} from '../src/config/assistant-table.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import {
  callbacksOf,
  canReturnTo,
  instructionOf,
  isOwnCallback,
  memberSteps,
  operatorSteps,
  type Values,
} from '../src/pages/assistants/connect-steps.ts'
import type { InstructionView } from '../views/connect-steps.ts'

const rows: unknown[] = JSON.parse(
  readFileSync(join(import.meta.dirname, '../config/assistants.json'), 'utf8'),
)
const assistants = assistantTable.parse(rows)
const hosts = ['127.0.0.1', '[::1]', 'localhost']

const plain: Values = {
  url: 'https://school.example/mcp/member',
  clientId: 'app_0123456789abcdef01234567',
  server: 'northlight',
  site: 'Northlight Academy',
  scopes: scopeNames('member'),
}

/** Each of these ends a text of some place, or begins a command there. */
const hostile =
  '"\'`;$(touch /tmp/x)\\{url}{client_id}]]\n[evil]\u007f\u2028</pre><script>&config=%22 ünï 🎓'
const evil: Values = {
  url: `https://school.example/${encodeURIComponent(hostile)}`,
  clientId: `app ${hostile}`,
  server: `north ${hostile}`,
  site: hostile,
  scopes: [`account ${hostile}`, 'b'],
}

describe('the table of assistants (config/assistants.json)', () => {
  it('has the assistants that people use, each once', () => {
    expect(assistants.map(({ id }) => id)).to.deep.equal([
      'claude',
      'claude-code',
      'chatgpt',
      'vscode',
      'cursor',
      'gemini-cli',
      'codex',
      'opencode',
      'inspector',
    ])
  })

  it('names for each callback where it was read, and when', () => {
    for (const { callbacks, documentation, ownCallback } of assistants) {
      for (const { read } of [...callbacks, documentation, ...(ownCallback ? [ownCallback] : [])]) {
        expect(new Date(read).getTime()).to.be.within(
          Date.parse('2026-01-01'),
          Date.parse('2030-01-01'),
        )
      }
    }
  })

  for (const [what, change, where] of [
    ['an unknown placeholder', { member: [command('{url} {client_id} {secret}')] }, 'member'],
    ['a way of members without client_id', { member: [command('{url}')] }, 'member'],
    ['an operator’s way with client_id', { operator: [command('{url} {client_id}')] }, 'operator'],
    ['a callback that is no address', { callbacks: [callback('nowhere')] }, 'callbacks'],
    ['an unknown kind', { member: [{ kind: 'script', title: 'x' }] }, 'member'],
    ['a field that nobody reads', { secret: 'x' }, ''],
  ] as const) {
    it(`refuses ${what}`, () => {
      const { error } = assistantTable.safeParse([{ ...(rows[0] as object), ...change }])
      expect(error?.issues.map(({ path }) => path[1] ?? '')).to.include(where)
    })
  }

  it('refuses an id that is there twice', () => {
    expect(assistantTable.safeParse([rows[0], rows[0]]).success).to.equal(false)
  })
})

describe('docs/how-to/connect-an-assistant.md', () => {
  const text = readFileSync(
    join(import.meta.dirname, '../docs/how-to/connect-an-assistant.md'),
    'utf8',
  )

  it('says of every assistant, and of no other, what is known', () => {
    const [, table = ''] = /### What is known of the assistants\n([\s\S]*)$/.exec(text) ?? []
    const names = [...table.matchAll(/^\| (?!assistant|---)([^|]+?) \|/gm)].map(([, name]) => name)
    expect(names).to.deep.equal(assistants.map(({ name }) => name))
  })

  it('names every kind of way and every placeholder', () => {
    const kinds = new Set(
      assistants
        .flatMap(({ member, operator }) => [...member, ...operator])
        .map(({ kind }) => kind),
    )
    for (const kind of kinds) expect(text).to.include(`| \`${kind}\` |`)
    for (const name of placeholders) expect(text).to.include(`\`{${name}}\``)
  })
})

describe('what a row becomes for a site', () => {
  for (const assistant of assistants) {
    for (const audience of ['member', 'operator'] as const) {
      for (const [index, way] of assistant[audience].entries()) {
        const which = `${assistant.name}, ${audience} ${index + 1} (${way.kind})`

        it(`${which} is well-formed and carries the values of the site`, () => {
          const instruction = instructionOf(way, plain)
          expect(textOf(instruction)).not.to.match(/\{[a-z_]+\}/)
          expect(JSON.stringify(instruction)).not.to.include('undefined')
          read(way, instruction)
        })

        it(`${which} carries hostile values unchanged, and nothing beside them`, () => {
          const instruction = instructionOf(way, evil)
          const found = read(way, instruction)
          const expected = read(way, instructionOf(way, plain))
          expect(shapeOf(found, evil)).to.deep.equal(shapeOf(expected, plain))
        })
      }
    }
  }

  it('gives a member the address of their tools and the client_id, each assistant', () => {
    for (const assistant of assistants) {
      const application = { clientId: plain.clientId, scopes: plain.scopes, redirectUris: [] }
      const site = { name: 'Northlight Academy', slug: 'northlight' }
      const { instructions } = memberSteps(assistant, site, application, plain.url)
      const text = instructions.map(decodedTextOf).join('\n')
      expect(text, assistant.name).to.include(plain.url).and.include(plain.clientId)
    }
  })

  it('calls the server by a plain word, whatever the slug is', () => {
    const codex = named('codex')
    const serverOf = (slug: string) => {
      const site = { name: 'x', slug }
      const [first] = operatorSteps(codex, site, 'https://a.example/mcp/admin', []).instructions
      return first?.kind === 'snippet' ? first.text.split(' ')[3] : undefined
    }
    expect(serverOf('open-kitchen')).to.equal('open-kitchen-admin')
    expect(serverOf(hostile)).to.match(/^[a-z0-9-]+-admin$/)
    expect(serverOf('--')).to.equal('school-admin')
    expect(serverOf('a'.repeat(80))).to.have.length(36)
  })
})

describe('callbacks', () => {
  it('leave out the hosts of this machine that a deployment does not admit', () => {
    expect(callbacksOf(named('cursor'), ['127.0.0.1'])).to.deep.equal([
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ])
    expect(callbacksOf(named('cursor'), hosts)).to.have.length(3)
  })

  it('have one free segment where they differ per connection', () => {
    const { ownCallback } = named('chatgpt')
    if (!ownCallback) throw new Error('ChatGPT has a callback of its own')
    const base = 'https://chatgpt.com/connector/oauth/'
    expect(isOwnCallback(ownCallback, `${base}OUbdUMlL15Ct`)).to.equal(true)
    for (const other of [
      base,
      `${base}a/b`,
      `${base}a?x=1`,
      `${base}a#x`,
      `${base}..`,
      `${base}%2e%2e`,
      `${base}a b`,
      `${base}${'a'.repeat(129)}`,
      'https://chatgpt.com.evil.example/connector/oauth/a',
      'https://chatgpt.com@evil.example/connector/oauth/a',
      'http://chatgpt.com/connector/oauth/a',
      'https://chatgpt.com/connector/OAUTH/a',
    ]) {
      expect(isOwnCallback(ownCallback, other), other).to.equal(false)
    }
  })

  it('say which assistants an application can be connected to; a native one varies its port', () => {
    const idsFor = (redirectUris: string[], applicationType: 'web' | 'native' = 'native') =>
      assistants.filter((each) => canReturnTo(each, { redirectUris, applicationType })).map(idOf)
    expect(idsFor(['http://127.0.0.1:4000/mcp/oauth/callback'])).to.deep.equal(['opencode'])
    expect(idsFor(['http://127.0.0.1:4000/mcp/oauth/callback'], 'web')).to.deep.equal([])
    expect(idsFor(['https://claude.ai/api/mcp/auth_callback'], 'web')).to.deep.equal(['claude'])
    expect(idsFor(['https://chatgpt.com/connector/oauth/abc'], 'web')).to.deep.equal(['chatgpt'])
    expect(idsFor(['https://app.example/callback'])).to.deep.equal([])
  })

  it('name the schemes of apps that are no domain name turned around', () => {
    expect(schemesOf(assistants)).to.deep.equal(['cursor:'])
  })
})

function command(text: string) {
  return { kind: 'command', title: 'x', lines: [text.split(' ')] }
}

function callback(uri: string) {
  return { uri, source: 'https://a.example/', read: '2026-11-22' }
}

function named(id: string): Assistant {
  const found = assistants.find((each) => each.id === id)
  if (!found) throw new Error(`there is no ${id}`)
  return found
}

function idOf({ id }: Assistant): string {
  return id
}

function textOf(instruction: InstructionView): string {
  switch (instruction.kind) {
    case 'steps':
      return instruction.steps.map(({ text, value }) => `${text} ${value ?? ''}`).join('\n')
    case 'snippet':
      return instruction.text
    case 'link':
      return instruction.href
  }
}

function decodedTextOf(instruction: InstructionView): string {
  if (instruction.kind !== 'link') return textOf(instruction)
  const decoded = decodeURIComponent(instruction.href)
  const base64 = /config=([A-Za-z0-9+/=]+)$/.exec(decoded)?.[1] ?? ''
  return decoded + Buffer.from(base64, 'base64').toString()
}

/** What the program into which it is pasted reads of it. */
function read(way: Way, instruction: InstructionView): unknown {
  if (instruction.kind === 'steps') return instruction.steps.map(({ value }) => value ?? null)
  const text = textOf(instruction)
  switch (way.kind) {
    case 'command':
      return text.split('\n').map(shellWords)
    case 'json':
      return JSON.parse(text)
    case 'toml':
      return parseToml(text)
    case 'link':
      return readLink(text, way.encoding)
    default:
      return text.split('\n').length
  }
}

/** The words of a line as a real shell has them. */
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
  // A plus sign that was not encoded would have become a space.
  expect(config).to.match(/^[A-Za-z0-9+/=]+$/)
  return { protocol, ...rest, content: JSON.parse(Buffer.from(config, 'base64').toString()) }
}

/** With the names of the values in place of the values themselves. */
function shapeOf(found: unknown, values: Values): unknown {
  const names = new Map<string, string>()
  for (const [name, value] of Object.entries(values)) {
    const texts = Array.isArray(value) ? [value.join(' '), ...value] : [value]
    for (const [index, text] of texts.entries()) {
      names.set(text, `<${name} ${index}>`)
      // A shell’s line takes no line break, which would begin a command.
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
