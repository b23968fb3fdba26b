import { z } from 'zod'

import { isRedirectPattern } from '../platform/http/redirect-uri.ts'

// Each entry of config/assistants.json lists the redirect URIs of one assistant (`callbacks`) and the ways to connect
// it. For members, the assistant uses the client_id of the site's application. For operators, it registers itself or
// has a metadata document. See docs/how-to/connect-an-assistant.md.

export type Assistant = z.infer<typeof assistant>
export type Way = z.infer<typeof way>

/** JSON whose strings may contain placeholders. */
export type Content =
  | string
  | number
  | boolean
  | readonly Content[]
  | { readonly [name: string]: Content }

/** The names of the placeholders that the instructions may contain, such as `{url}`. */
export const placeholders = ['url', 'origin', 'client_id', 'server', 'site', 'scopes'] as const
export const PLACEHOLDER = /\{([a-z_]+)\}/g

function placeholdersIn(value: unknown): string[] {
  const names = JSON.stringify(value).matchAll(PLACEHOLDER)
  return [...new Set([...names].map(([, name = '']) => name))]
}

const listOf = <Each extends z.ZodType>(each: Each, max: number) => z.array(each).min(1).max(max)

/** The id of a message, without the prefix `assistant.`, or literal text. */
const sentence = z.string().min(1).max(600)
const word = z.string().min(1).max(200)
const title = z.string().min(1).max(80)
const page = z.url({ protocol: /^https$/ }).max(300)
const content: z.ZodType<Content> = z.lazy(() =>
  z.union([
    z.string().max(600),
    z.number(),
    z.boolean(),
    z.array(content).max(20),
    z.record(z.string(), content),
  ]),
)
const wayOf = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ title, afterwards: sentence.optional(), kind: z.literal(kind), ...shape })

const steps = wayOf('steps', {
  steps: listOf(z.strictObject({ text: sentence, value: z.string().max(200).optional() }), 12),
})
/** Shell commands, as lists of words, so each word can be quoted. */
const command = wayOf('command', { lines: listOf(listOf(word, 30), 5) })
/** Lines to enter in the assistant itself, not in a shell. */
const session = wayOf('session', { lines: listOf(word, 5) })
const file = z.string().min(1).max(100)
const json = wayOf('json', { file, content })
const table = z.strictObject({
  name: listOf(z.string().min(1), 5),
  values: z.record(z.string().regex(/^[a-z_]+$/), z.union([z.string(), z.array(z.string())])),
})
const toml = wayOf('toml', { file, tables: listOf(table, 5) })
/** A link that opens the assistant. The encoded content is appended to `address`. */
const link = wayOf('link', {
  address: z.string().regex(/^[a-z][a-z0-9+.-]*:(?!\/*$)\S+$/),
  encoding: z.enum(['json', 'base64']),
  content,
})
const way = z.discriminatedUnion('kind', [steps, command, session, json, toml, link])

/** The placeholder for the host of a self-hosted assistant in a callback pattern. */
export const OWN_HOST = '{host}'

const ownCallback = z.strictObject({
  /** The callback, with one variable segment. For self-hosted assistants, the host of the callback is `{host}`. */
  pattern: z
    .string()
    .refine((pattern) => isRedirectPattern(pattern.replace(OWN_HOST, 'host.example'))),
  find: sentence,
  differs: sentence,
  source: page,
  read: z.iso.date(),
})

const assistant = z
  .strictObject({
    id: z.string().regex(/^[a-z][a-z0-9-]{1,40}$/),
    name: z.string().min(1).max(60),
    /** Where requests come from: the vendor's servers or the person's computer. */
    runs: z.enum(['cloud', 'computer']),
    where: title,
    documentation: z.strictObject({ url: page, read: z.iso.date() }),
    callbacks: listOf(
      z.strictObject({
        uri: z.string().max(500).refine(URL.canParse, 'must be a URL'),
        source: page,
        read: z.iso.date(),
      }),
      10,
    ),
    /** The URL of the assistant's metadata document, which is its `client_id` for operators. */
    document: page.optional(),
    /** How operators find the callbacks to enter, if the assistant has a separate callback for each connection. */
    ownCallback: ownCallback.optional(),
    /** Prefixes of callbacks that connect several people with one `client_id`. Consent for them is never remembered. */
    connections: listOf(page, 5).default([]),
    member: listOf(way, 5),
    operator: listOf(way, 5),
  })
  .superRefine((row, context) => {
    for (const audience of ['member', 'operator'] as const) {
      const used = placeholdersIn(row[audience])
      const unknown = used.filter((name) => !placeholders.some((known) => known === name))
      const needed = audience === 'member' ? ['url', 'client_id'] : ['url']
      const missing = needed.filter((name) => !used.includes(name))
      const message = [
        unknown.length > 0 && `must not use unknown placeholders: {${unknown.join('}, {')}}`,
        missing.length > 0 && `must use {${missing.join('}, {')}}`,
        audience === 'operator' &&
          used.includes('client_id') &&
          'must not use {client_id}: the assistant registers itself',
      ].find(Boolean)
      if (message) context.addIssue({ code: 'custom', path: [audience], message })
    }
  })

/** The format of `config/assistants.json`. */
export const assistantTable = z
  .array(assistant)
  .refine((rows) => new Set(rows.map(({ id }) => id)).size === rows.length, 'must not repeat an id')

/** Returns the private-use schemes of the assistants' callbacks, such as `cursor:`. */
export function schemesOf(assistants: readonly Assistant[]): string[] {
  const schemes = assistants.flatMap(({ callbacks }) =>
    callbacks.map(({ uri }) => new URL(uri).protocol),
  )
  return [...new Set(schemes)].filter((scheme) => !['http:', 'https:'].includes(scheme))
}
