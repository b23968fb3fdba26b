import type { ConnectStepsView, InstructionView } from '../../../views/connect-steps.ts'
import type { Html } from '../../../views/html.ts'
import { inCode, inEnglish, textIfAny } from '../../../views/text.ts'
import {
  type Assistant,
  type Content,
  OWN_HOST,
  PLACEHOLDER,
  type Way,
} from '../../config/assistant-table.ts'
import { isLoopbackHost } from '../../platform/http/loopback.ts'
import { differInPortOnly, matchesPattern } from '../../platform/http/redirect-uri.ts'

interface NamedSite {
  readonly name: string
  readonly slug: string
}

/**
 * Returns the steps for a member to connect an assistant, with the client_id of the site's application. If every
 * connection of the assistant has its own callback, includes the registered callbacks.
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
      differs: assistantText(ownCallback.differs),
      uris: redirectUris.filter((uri) => isOwnCallback(ownCallback, uri)),
    },
  }
}

/** Returns the steps for an operator. They contain no client_id: an assistant registers or has a metadata document. */
export function operatorSteps(
  assistant: Assistant,
  site: NamedSite,
  url: string,
  scopes: readonly string[],
): ConnectStepsView {
  // The suffix distinguishes this connection from the same person's connection as a member.
  const server = `${serverName(site)}-admin`
  return stepsOf(assistant, 'operator', { url, clientId: '', server, site: site.name, scopes })
}

function stepsOf(assistant: Assistant, audience: 'member' | 'operator', values: Values) {
  const { id, name, documentation, runs } = assistant
  const instructions = assistant[audience].map((way) => instructionOf(way, values))
  const where = assistantText(assistant.where)
  return { id, name, where, documentation, instructions, needsPublicAddress: runs === 'cloud' }
}

/** Returns the message `assistant.<words>`, or `words` itself, marked as English. @param url the URL to insert */
export function assistantText(words: string, url = ''): Html {
  return textIfAny(`assistant.${words}`, { url: inCode(url) }) ?? inEnglish(words)
}

/** The maximum length of a server name. MCP hosts prepend it to tool names, which may have up to 64 characters. */
const SERVER_LENGTH_MAX = 30

/** Returns the slug in lower case, shortened and with only letters, digits and hyphens; `school` if nothing is left. */
function serverName({ slug }: NamedSite): string {
  const word = slug.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return word.slice(0, SERVER_LENGTH_MAX).replace(/^-+|-+$/g, '') || 'school'
}

/** The values of the placeholders in instructions. */
export interface Values {
  /** The URL of the MCP endpoint. */
  readonly url: string
  /** The client_id to enter; empty if the person enters none. */
  readonly clientId: string
  /** The name that the assistant uses for the server: letters, digits and hyphens. */
  readonly server: string
  /** The site's name: untrusted text. */
  readonly site: string
  readonly scopes: readonly string[]
}

/** Fills in the instructions for one way to connect. Escapes values for a file or command, but not for HTML. */
export function instructionOf(way: Way, values: Values): InstructionView {
  const words = {
    title: assistantText(way.title),
    afterwards: way.afterwards === undefined ? undefined : assistantText(way.afterwards),
  }
  switch (way.kind) {
    case 'steps': {
      const steps = way.steps.map(({ text, value }) => ({
        text: assistantText(text),
        value: value === undefined ? undefined : fill(value, values),
      }))
      return { ...words, kind: 'steps', steps }
    }
    case 'command': {
      const lines = way.lines.map((line) =>
        line.map((word) => shellWord(fill(word, values))).join(' '),
      )
      return { ...words, kind: 'snippet', text: lines.join('\n') }
    }
    case 'session': {
      const lines = way.lines.map((line) => withoutControls(fill(line, values)))
      return { ...words, kind: 'snippet', text: lines.join('\n') }
    }
    case 'json': {
      const content = JSON.stringify(fillContent(way.content, values), null, 2)
      return { ...words, kind: 'snippet', text: content, file: way.file }
    }
    case 'toml':
      return { ...words, kind: 'snippet', text: tomlOf(way, values), file: way.file }
    case 'link':
      return { ...words, kind: 'link', href: linkTo(way, values) }
  }
}

/** Quotes a word for a POSIX shell. Plain words stay unquoted, so other shells accept them too. */
function shellWord(word: string): string {
  const line = withoutControls(word)
  return /^[\w@%+:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", `'\\''`)}'`
}

/** Replaces control characters with spaces, because a line break in a value would start another command. */
function withoutControls(text: string): string {
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

/** Formats a TOML value. A JSON string is also a TOML string, except that TOML requires DEL to be escaped. */
function tomlValue(value: Content): string {
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\x7f', '\\u007f')
  return `[${Object.values(value).map(tomlValue).join(', ')}]`
}

function linkTo({ address, encoding, content }: Extract<Way, { kind: 'link' }>, values: Values) {
  const inside = JSON.stringify(fillContent(content, values))
  const encoded = encoding === 'base64' ? Buffer.from(inside).toString('base64') : inside
  // Encode the values, because the placeholders are in the query string.
  return fill(address, values, encodeURIComponent) + encodeURIComponent(encoded)
}

/** Fills in the placeholders in a single pass, so a value that looks like a placeholder stays unchanged. */
function fill(
  text: string,
  { url, clientId, server, site, scopes }: Values,
  encode: (value: string) => string = String,
): string {
  const lists: Record<string, readonly string[]> = {
    ...{ url: [url], origin: [URL.parse(url)?.origin ?? ''], server: [server], site: [site] },
    ...{ client_id: [clientId], scopes },
  }
  return text.replace(PLACEHOLDER, (whole, name) =>
    Object.hasOwn(lists, name) ? (lists[name] ?? []).map(encode).join(' ') : whole,
  )
}

/** Fills in the placeholders in names and values of JSON. The list `["{scopes}"]` becomes the list of scopes. */
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

/** Returns the callbacks of an assistant, except those on loopback hosts that the service does not allow. */
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

/** Whether the URI is canonical and matches the pattern. The placeholder `{host}` matches any host. */
export function isOwnCallback({ pattern }: { readonly pattern: string }, uri: string): boolean {
  const { host = '', href } = URL.parse(uri) ?? {}
  return href === uri && matchesPattern(uri, pattern.replace(OWN_HOST, host))
}

/**
 * Whether the assistant can use at least one redirect URI of the application. If the application is native, the ports
 * of loopback URIs may differ (RFC 8252 §7.3).
 */
export function canReturnTo(
  { callbacks, ownCallback }: Pick<Assistant, 'callbacks' | 'ownCallback'>,
  app: { readonly applicationType: string; readonly redirectUris: readonly string[] },
): boolean {
  const isNative = app.applicationType === 'native'
  return app.redirectUris.some(
    (registered) =>
      (ownCallback !== undefined && isOwnCallback(ownCallback, registered)) ||
      callbacks.some(
        ({ uri }) => uri === registered || (isNative && differInPortOnly(uri, registered)),
      ),
  )
}
