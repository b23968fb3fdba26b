import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import type { GraphQLSchema, OperationDefinitionNode } from 'graphql'
import { z } from 'zod'

import packageJson from '../../../package.json' with { type: 'json' }
import type { PublicCourses, PublicSites } from '../../directory/sites/public-sites.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { pages } from '../../platform/http/paths.ts'
import type { NamedRequest } from '../../platform/http/request-log.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { ExecuteAdmin } from '../admin-api/admin-api.ts'
import type { ExecuteMember } from '../member-api/member-api.ts'

/** For whom an agent acts. */
export type ToolAudience = 'member' | 'operator'

/** An address of the tools; the table of them is `tool-access.ts`. */
export interface ToolAddress {
  readonly path: string
  /** Whose tools are shown beside the public ones; without one, whoever the token is for. */
  readonly audience?: ToolAudience
  /** The name of its protected-resource metadata. */
  readonly resource: 'mcp' | 'mcpMember' | 'mcpAdmin'
}

/** Who may call a tool. */
export type ToolAccess =
  | { readonly kind: 'public' }
  /** Any valid token; `asked` is what a caller without one is told to ask for. */
  | { readonly kind: 'token'; readonly asked: readonly string[] }
  /** A token with every one of these scopes. */
  | { readonly kind: 'scopes'; readonly needed: readonly string[] }
  /** A token with any scope of an audience. */
  | { readonly kind: 'audience'; readonly audience: ToolAudience }

/** A GraphQL document with one operation, and the schema that it fits. */
export interface FixedDocument {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
}

/** One row of the catalogue. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly access: ToolAccess
  /** Who may call it with these arguments, where that depends on them. */
  readonly accessFor?: (values: unknown) => ToolAccess
  /** What it does: a change that destroys takes something away or writes over what was there. */
  readonly effect: 'reads' | 'changes' | 'destroys'
  /** What it takes. Made with the first question, to keep start-up fast. */
  readonly input: () => JsonSchema
  /**
   * The GraphQL document that it runs, if it runs one, and the way to the part of the answer that it
   * returns. docs/reference/tools.md and its test derive from it what the tool answers; no client is told (decision 15).
   */
  readonly runs?: { readonly document: () => FixedDocument; readonly pick: readonly string[] }
  /**
   * Checks the arguments and does the work. Text is answered as it is, anything else as JSON.
   *
   * @throws ToolProblem when the caller can do better; every other error is a refusal or a fault
   */
  readonly run: (values: unknown, call: ToolCall) => Promise<object | string>
}

/** What a running tool may use. */
export interface ToolCall {
  /** Who calls; undefined when nobody signed in. */
  readonly caller: AccessToken | undefined
  /** What the audit trail keeps with a change. */
  readonly request: NamedRequest
  /** Hears that the answer says what the caller did wrong. */
  readonly hearProblem: () => void
  readonly address: ToolAddress
  readonly parts: ToolParts
}

/**
 * Who calls a tool that is not public.
 *
 * @throws Error when nobody does: the way to the tool has been left open
 */
export function callerOf({ caller }: ToolCall): AccessToken {
  if (!caller) throw new Error('a tool that needs a token was called without one')
  return caller
}

/** What the composition root gives to the tools. */
export interface ToolParts {
  readonly service: { readonly name: string; readonly version: string; readonly baseUrl: string }
  /** The short form of /auth.md. */
  readonly authGuide: () => string
  readonly publicSites: PublicSites
  /** What anybody may know; fails with `temporarily_unavailable` when storage does not answer. */
  readonly publicCourses: PublicCourses
  /** Runs a fixed document of the Member API for the caller, in process. */
  readonly executeMember: ExecuteMember
  /** Runs a fixed document of the Admin API for the caller, in process. */
  readonly executeAdmin: ExecuteAdmin
  readonly cursors: Cursors
  readonly now: () => number
}

/** What the tools say of this service. */
export function describeService(name: string, baseUrl: string): ToolParts['service'] {
  return { name, version: packageJson.version, baseUrl }
}

/** Who answers, as clients are told it. */
export function identityOf({ service: { name, version, baseUrl } }: Pick<ToolParts, 'service'>) {
  const src = baseUrl + pages.iconPng
  const icons = [{ src, mimeType: 'image/png', sizes: ['128x128'] }]
  return { name: 'gatehouse', title: name, version, icons, websiteUrl: baseUrl }
}

/** Something that the caller can mend, told as the result of the call and not as a failure of it. */
export class ToolProblem extends Error {}

/** What a tool is made of; the schema that clients read is derived from the one that checks. */
interface ToolDefinition<Input extends z.ZodType>
  extends Pick<Tool, 'name' | 'title' | 'description' | 'access' | 'accessFor'> {
  readonly takes: Input
  readonly run: (values: z.output<Input>, call: ToolCall) => Promise<object | string>
}

/** Makes a row of the catalogue, of a tool that reads. */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const { takes, run, ...described } = definition
  // An argument that has a default may be absent.
  const input = once(() => plainSchema(z.toJSONSchema(takes, { io: 'input' })))
  return {
    ...described,
    effect: 'reads',
    input,
    run: async (values, call) => await run(parseArguments(takes, values, input()), call),
  }
}

/**
 * The arguments of a call, checked.
 *
 * @throws ToolProblem with a sentence that names each argument to correct
 */
function parseArguments<Input extends z.ZodType>(
  input: Input,
  values: unknown,
  said: JsonSchema,
): z.output<Input> {
  const parsed = input.safeParse(withoutNulls(values ?? {}))
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ')
  const fault = faults.slice(0, FAULTS_LENGTH_MAX)
  throw new ToolProblem(`The arguments do not fit. ${fault}. ${takesWords(said)}`)
}

/** Some models send null for each argument that they leave out. */
function withoutNulls(values: unknown): unknown {
  if (typeof values !== 'object' || Array.isArray(values)) return values
  return Object.fromEntries(Object.entries(values as object).filter(([, value]) => value !== null))
}

/** An argument's own name is repeated in what is wrong with it, and may be as long as the body. */
const FAULTS_LENGTH_MAX = 500

/**
 * What a tool's row is to a client. Of the hints those are said whose defaults warn; that a call may be
 * repeated means something only where it changes.
 */
export function describeTool({ name, title, description, effect, input }: Tool): ToolDescription {
  const reads = effect === 'reads'
  return {
    name,
    title,
    description,
    // Arguments are objects, which the SDK's type wants to read in the schema itself.
    inputSchema: input() as ToolDescription['inputSchema'],
    annotations: {
      readOnlyHint: reads,
      destructiveHint: effect === 'destroys',
      ...(!reads && { idempotentHint: true }),
      openWorldHint: false,
    },
  }
}

/** Makes a value when it is asked for the first time. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** A JSON Schema (2020-12), as a client reads it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/**
 * The keywords that every host hands to every model. Of the rest some APIs refuse the whole request:
 * `additionalProperties`, `$schema`, `format` and `anyOf` at Google's, lengths and patterns where a schema is taken strictly.
 * What they would say stands in the description, and is checked here all the same.
 */
const keywords = ['type', 'description', 'properties', 'required', 'enum', 'items'] as const

/** A schema of arguments in the plainest form that says what is wanted. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  const kept = keywords.filter((keyword) => keyword in schema)
  return Object.fromEntries(kept.map((keyword) => [keyword, plain(keyword, schema[keyword])]))
}

function plain(keyword: (typeof keywords)[number], value: unknown): unknown {
  if (keyword === 'items') return plainSchema(value as JsonSchema)
  if (keyword !== 'properties') return value
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, JsonSchema>>).map(([name, property]) => [
      name,
      plainSchema(property),
    ]),
  )
}

/** The arguments that fit, as a sentence for a caller that sent others. */
export function takesWords({ properties, required }: JsonSchema): string {
  const needed = new Set((required ?? []) as string[])
  const names = Object.keys((properties ?? {}) as object)
  if (names.length === 0) return 'It takes no arguments.'
  const said = names.map((name) => (needed.has(name) ? `${name} (required)` : name))
  return `It takes ${said.join(', ')}.`
}

/** The revisions of the protocol that the endpoint speaks, the newest first (design 23). */
export const protocolVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const
