import type { ConnectStepsView, InstructionView } from '../../../views/connect-steps.ts'
import {
  type Assistant,
  type Content,
  PLACEHOLDER,
  type Way,
} from '../../config/assistant-table.ts'
import { isLoopbackHost } from '../../platform/http/loopback.ts'

interface NamedSite {
  readonly name: string
  readonly slug: string
}

/**
 * The steps of a member to the tools of their own data, with the client_id of an application of the
 * site, and the callbacks that are registered where each connection has its own.
 */
export function memberSteps(
  assistant: Assistant,
  site: NamedSite,
  application: Pick<Values, 'clientId' | 'scopes'> & { readonly redirectUris: readonly string[] },
  url: string,
): ConnectStepsView {
  const { clientId, scopes, redirectUris } = application
  const { ownCallback } = assistant
  const server = serverName(site)
  return {
    ...stepsOf(assistant, 'member', { url, clientId, server, site: site.name, scopes }),
    ownCallbacks: ownCallback && {
      differs: ownCallback.differs,
      uris: redirectUris.filter((uri) => isOwnCallback(ownCallback, uri)),
    },
  }
}

/** The steps of an operator to the tools of a site. The assistant registers itself, some with `scopes`. */
export function operatorSteps(
  assistant: Assistant,
  site: NamedSite,
  url: string,
  scopes: readonly string[],
): ConnectStepsView {
  // A person may connect both, and has to tell them apart.
  const server = `${serverName(site)}-admin`
  return stepsOf(assistant, 'operator', { url, clientId: '', server, site: site.name, scopes })
}

function stepsOf(assistant: Assistant, audience: 'member' | 'operator', values: Values) {
  const { id, name, where, documentation, runs } = assistant
  const instructions = assistant[audience].map((way) => instructionOf(way, values))
  return { id, name, where, documentation, instructions, needsPublicAddress: runs === 'cloud' }
}

/** Hosts put it before the names of tools, which have 64 characters in all. */
const SERVER_LENGTH_MAX = 30

/** A plain word, whatever the slug holds. */
function serverName({ slug }: NamedSite): string {
  const word = slug.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return word.slice(0, SERVER_LENGTH_MAX).replace(/^-+|-+$/g, '') || 'school'
}

/** The values of one site and one application. */
export interface Values {
  /** The address that the assistant connects to. */
  readonly url: string
  /** Of the site's application; empty where the assistant registers itself. */
  readonly clientId: string
  /** The assistant's name for the server: letters, digits and hyphens. */
  readonly server: string
  /** The name of the site, which its owners chose freely. */
  readonly site: string
  readonly scopes: readonly string[]
}

/**
 * One way to connect, with the values of one site. Every text is escaped for the place that it is pasted
 * into; the page escapes it once more for itself.
 */
export function instructionOf(way: Way, values: Values): InstructionView {
  const words = { title: way.title, afterwards: way.afterwards }
  switch (way.kind) {
    case 'steps': {
      const steps = way.steps.map(({ text, value }) => ({
        text,
        value: value === undefined ? undefined : fill(value, values),
      }))
      return { ...words, kind: 'steps', steps }
    }
    case 'command':
      return { ...words, kind: 'snippet', text: shellLines(way.lines, values) }
    case 'session': {
      const text = way.lines.map((line) => oneLine(fill(line, values))).join('\n')
      return { ...words, kind: 'snippet', text }
    }
    case 'json': {
      const text = JSON.stringify(fillContent(way.content, values), null, 2)
      return { ...words, kind: 'snippet', text, file: way.file }
    }
    case 'toml':
      return { ...words, kind: 'snippet', text: tomlOf(way, values), file: way.file }
    case 'link':
      return { ...words, kind: 'link', label: way.label, href: linkTo(way, values) }
  }
}

function shellLines(lines: readonly (readonly string[])[], values: Values): string {
  return lines
    .map((words) => words.map((word) => shellWord(fill(word, values))).join(' '))
    .join('\n')
}

/**
 * One word as a POSIX shell reads it, within whose single quotes only the quote itself has a meaning.
 * What needs none gets none, so that other shells read the line alike.
 */
function shellWord(word: string): string {
  const line = oneLine(word)
  return /^[\w@%+:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", `'\\''`)}'`
}

/** A line break in a value would end the line that it is pasted into, and begin a command of its own. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}

function tomlOf({ tables }: Extract<Way, { kind: 'toml' }>, values: Values): string {
  return tables
    .map(({ name, values: pairs }) => {
      const header = `[${name.map((part) => tomlKey(fill(part, values))).join('.')}]`
      const lines = Object.entries(pairs).map(
        ([key, value]) => `${key} = ${tomlValue(fillContent(value, values))}`,
      )
      return [header, ...lines].join('\n')
    })
    .join('\n\n')
}

function tomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : tomlValue(key)
}

/** The strings of JSON are basic strings of TOML, but for DEL, which JSON leaves as it is. */
function tomlValue(value: Content): string {
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\x7f', '\\u007f')
  return `[${Object.values(value).map(tomlValue).join(', ')}]`
}

function linkTo(
  { address, encoding, content }: Extract<Way, { kind: 'link' }>,
  values: Values,
): string {
  const inside = JSON.stringify(fillContent(content, values))
  const encoded = encoding === 'base64' ? Buffer.from(inside).toString('base64') : inside
  // The values of an address are parts of its query.
  return fill(address, values, encodeURIComponent) + encodeURIComponent(encoded)
}

/** Fills in the values in one pass: what a value holds is never read as a placeholder. */
function fill(
  text: string,
  { url, clientId, server, site, scopes }: Values,
  encode: (value: string) => string = String,
): string {
  const lists: Record<string, readonly string[]> = {
    ...{ url: [url], server: [server], site: [site] },
    ...{ client_id: [clientId], scopes },
  }
  return text.replace(PLACEHOLDER, (whole, name) =>
    Object.hasOwn(lists, name) ? (lists[name] ?? []).map(encode).join(' ') : whole,
  )
}

/** The same in names and values of JSON; a list that holds `{scopes}` alone becomes the list of scopes. */
function fillContent(content: Content, values: Values): Content {
  if (typeof content === 'string') return fill(content, values)
  if (typeof content !== 'object') return content
  if (isList(content)) {
    if (content.length === 1 && content[0] === '{scopes}') return values.scopes
    return content.map((each) => fillContent(each, values))
  }
  return Object.fromEntries(
    Object.entries(content).map(([name, value]) => [
      fill(name, values),
      fillContent(value, values),
    ]),
  )
}

function isList(content: object): content is readonly Content[] {
  return Array.isArray(content)
}

/** The callbacks of an assistant, without those to a loopback host that the service does not admit. */
export function callbacksOf(
  { callbacks }: Pick<Assistant, 'callbacks'>,
  loopbackHosts: readonly string[],
): string[] {
  return callbacks
    .map(({ uri }) => uri)
    .filter((uri) => {
      const { hostname, protocol } = new URL(uri)
      const onThisMachine = protocol === 'http:' && isLoopbackHost(hostname)
      return !onThisMachine || loopbackHosts.includes(hostname)
    })
}

/** Whether an address is the assistant's fixed one and one free segment behind it, and nothing else. */
export function isOwnCallback({ prefix }: { readonly prefix: string }, uri: string): boolean {
  return uri.startsWith(prefix) && /^[\w-]{1,128}$/.test(uri.slice(prefix.length))
}

/**
 * Whether an assistant can be connected with an application that has these redirect addresses: one of its
 * callbacks is among them. The port of a loopback address does not count for a native application
 * (RFC 8252 §7.3), as it does not when the assistant comes back.
 */
export function canReturnTo(
  { callbacks, ownCallback }: Pick<Assistant, 'callbacks' | 'ownCallback'>,
  {
    applicationType,
    redirectUris,
  }: { readonly applicationType: 'web' | 'native'; readonly redirectUris: readonly string[] },
): boolean {
  const comparable = (uri: string) => (applicationType === 'native' ? withoutPort(uri) : uri)
  const registered = redirectUris.map(comparable)
  return (
    callbacks.some(({ uri }) => registered.includes(comparable(uri))) ||
    (ownCallback !== undefined && redirectUris.some((uri) => isOwnCallback(ownCallback, uri)))
  )
}

function withoutPort(uri: string): string {
  const url = URL.parse(uri)
  if (url?.protocol !== 'http:' || !isLoopbackHost(url.hostname)) return uri
  url.port = ''
  return url.href
}
