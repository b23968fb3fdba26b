import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import type { GraphQLSchema } from 'graphql'
import { z } from 'zod'

import type { PublicCourses } from '../../directory/sites/public-sites.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { pages } from '../../platform/http/paths.ts'
import type { NamedRequest } from '../../platform/http/request-log.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { ExecuteAdmin } from '../admin-api/admin-api.ts'
import { once } from '../graphql/once.ts'
import type { ExecuteMember } from '../member-api/member-api.ts'

/** The kind of person that an agent acts for. */
export type ToolAudience = 'member' | 'operator'

/** A tool endpoint. `toolAddresses` contains the endpoints whose paths name no areas. */
export interface ToolAddress {
  readonly path: string
  /** The audience of the endpoint's non-public tools; undefined if the endpoint serves all audiences. */
  readonly audience?: ToolAudience
  /** The name of the endpoint's protected-resource metadata. */
  readonly resource: 'mcp' | 'mcpMember' | 'mcpAdmin'
  /** The changeable areas listed in the path (design 38). */
  readonly areas?: readonly string[]
}

/** The condition for using a tool, prompt or resource. */
export type ToolAccess =
  | { readonly kind: 'public' }
  /** Any valid token. If there is no token, the challenge requests the scopes `asked`. */
  | { readonly kind: 'token'; readonly asked: readonly string[] }
  /** A token with all scopes in `needed`. */
  | {
      readonly kind: 'scopes'
      readonly needed: readonly string[]
      /** The query or mutation field that the tool selects. Sites may require two factors for it. */
      readonly operation?: string | undefined
    }
  /** A token with all scopes in `also` (default: any scope of the audience). Challenges add those in the metadata. */
  | {
      readonly kind: 'audience'
      readonly audience: ToolAudience
      readonly also?: readonly string[]
    }

/** One tool of the catalogue. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly access: ToolAccess
  /** The condition for a call with these arguments, if the condition depends on the arguments. */
  readonly accessFor?: (values: unknown) => ToolAccess
  /** The effect of the tool. `destroys` means a change that removes or overwrites data, or cannot be undone. */
  readonly effect: 'reads' | 'changes' | 'destroys'
  /** Whether each call sends mail. Such a call is not idempotent, and reaches people outside the service. */
  readonly mails?: boolean
  /** Returns the JSON Schema of the arguments that a caller may send. Created on first use, to keep start-up fast. */
  readonly input: (caller?: AccessToken) => JsonSchema
  /** The GraphQL document that the tool runs, its schema, and the path to the returned part of its result. */
  readonly runs?: {
    readonly schema: () => GraphQLSchema
    readonly document: () => string
    readonly pick: readonly string[]
    /** The fields that some results lack. */
    readonly optional: readonly string[]
  }
  /** Runs the tool. Returns text, or an object to send as JSON. @throws ToolProblem for a mistake by the caller */
  readonly run: (values: unknown, call: ToolCall) => Promise<object | string>
}

/** The context of a tool call. */
export interface ToolCall {
  readonly caller: AccessToken | undefined
  /** The request, for the audit trail. */
  readonly request: NamedRequest
  /** Called if the result is marked as an error. */
  readonly onProblem: () => void
  readonly address: ToolAddress
  /** What to do if this client cannot request the scopes of the tool; undefined if the call is permitted. */
  readonly remedy?: string | undefined
  /** Whether the host can open a page and then repeat the call (MCP, input required). */
  readonly opensPages?: boolean
  readonly parts: ToolParts
}

/** Returns the caller of a tool that is not public. @throws Error for a call without a token */
export function signedInCaller({ caller }: ToolCall): AccessToken {
  if (!caller) throw new Error('a tool that needs a token was called without a token')
  return caller
}

/** Dependencies of the tools. */
export interface ToolParts {
  readonly service: { readonly name: string; readonly version: string; readonly baseUrl: string }
  readonly authGuide: () => string
  readonly publicCourses: PublicCourses
  readonly executeMember: ExecuteMember
  readonly executeAdmin: ExecuteAdmin
  readonly cursors: Cursors
  readonly now: () => number
  /** Whether tools declare a result schema and also send structured content (decision 15). */
  readonly structuredResults: boolean
}

/** Returns the `serverInfo` of the tool endpoints (MCP). */
export function serverInfoOf({ service: { name, version, baseUrl } }: Pick<ToolParts, 'service'>) {
  const src = baseUrl + pages.iconPng
  const icons = [{ src, mimeType: 'image/png', sizes: ['128x128'] }]
  return { name: 'gatehouse', title: name, version, icons, websiteUrl: baseUrl }
}

/** A mistake that the caller can correct, or a missing approval. Its message is for the caller. */
export class ToolProblem extends Error {
  /** The tool that lists valid values. The result names it if the caller may use it. */
  readonly listedBy: string | undefined
  /** The page on which the person approves the change, if the change needs an approval (design 37). */
  readonly approvalAddress: string | undefined

  constructor(message: string, listedBy?: string, approvalAddress?: string) {
    super(message)
    this.listedBy = listedBy
    this.approvalAddress = approvalAddress
  }
}

/** The definition of a tool. `takes` validates the arguments; the JSON Schema for clients is derived from it. */
interface ToolDefinition<Input extends z.ZodType>
  extends Pick<Tool, 'name' | 'title' | 'description' | 'access'> {
  readonly takes: Input
  readonly run: (values: z.output<Input>, call: ToolCall) => Promise<object | string>
}

/** Creates a read-only tool. */
export function defineTool<Input extends z.ZodType>(definition: ToolDefinition<Input>): Tool {
  const { takes, run, ...described } = definition
  // With `io: 'input'`, arguments with a default are optional.
  const input = once(() => plainSchema(z.toJSONSchema(takes, { io: 'input' })))
  return {
    ...described,
    effect: 'reads',
    input,
    run: async (values, call) => await run(parseArguments(takes, values, input()), call),
  }
}

/** Validates the arguments of a call. @throws ToolProblem, which names the invalid arguments */
function parseArguments<Input extends z.ZodType>(
  input: Input,
  values: unknown,
  schema: JsonSchema,
) {
  const parsed = input.safeParse(withoutNulls(values ?? {}))
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ')
  const fault = faults.slice(0, FAULTS_LENGTH_MAX)
  throw new ToolProblem(`The arguments are invalid. ${fault}. ${describeArguments(schema)}`)
}

/** Removes nulls, because some models send null for each omitted argument. */
function withoutNulls(values: unknown): unknown {
  if (typeof values !== 'object' || Array.isArray(values)) return values
  return Object.fromEntries(Object.entries(values as object).filter(([, value]) => value !== null))
}

/** The maximum length of the problem list in an error message. Its argument names may be as long as a request body. */
const FAULTS_LENGTH_MAX = 500

/** Describes a tool to clients. Sets all hints, because hosts may warn about a tool that omits a hint. */
export function describeTool(tool: Tool, caller: AccessToken | undefined): ToolDescription {
  const { name, title, description, access, effect, mails = false, input } = tool
  const described = {
    name,
    title,
    description,
    // The SDK's type requires the literal type 'object'.
    inputSchema: input(caller) as ToolDescription['inputSchema'],
    annotations: {
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'destroys',
      idempotentHint: !mails,
      openWorldHint: mails,
    },
    securitySchemes: securitySchemesOf(access),
  }
  return described
}

/**
 * Returns the `securitySchemes` of a tool. Without `securitySchemes`, ChatGPT repeats a rejected call instead of
 * signing in. ChatGPT reads them at the top level (OpenAI, Apps SDK, Authentication, October 2026).
 */
function securitySchemesOf(access: ToolAccess) {
  if (access.kind === 'public') return [{ type: 'noauth' }]
  const scopes = access.kind === 'scopes' ? access.needed : []
  return [{ type: 'oauth2', ...(scopes.length > 0 && { scopes }) }]
}

/** A JSON Schema (2020-12). */
export type JsonSchema = { readonly [keyword: string]: unknown }

/**
 * The keywords that every known host passes to every model. Some APIs reject requests with other keywords. Google's
 * rejects `additionalProperties`, `$schema`, `format` and `anyOf`, and strict modes reject lengths and patterns. Calls
 * are validated against the full schema.
 */
const keywords = ['type', 'description', 'properties', 'required', 'enum', 'items'] as const

/** Reduces a JSON Schema and all schemas nested in it to the accepted keywords. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  const kept = keywords.filter((keyword) => keyword in schema)
  const plain = (keyword: (typeof keywords)[number], value: unknown) => {
    if (keyword === 'items') return plainSchema(value as JsonSchema)
    if (keyword !== 'properties') return value
    const properties = Object.entries(value as Readonly<Record<string, JsonSchema>>)
    return Object.fromEntries(properties.map(([name, property]) => [name, plainSchema(property)]))
  }
  return Object.fromEntries(kept.map((keyword) => [keyword, plain(keyword, schema[keyword])]))
}

/** Lists the valid arguments in a sentence, for error messages. */
export function describeArguments({ properties, required }: JsonSchema): string {
  const needed = new Set((required ?? []) as string[])
  const names = Object.keys((properties ?? {}) as object)
  if (names.length === 0) return 'The tool takes no arguments.'
  const marked = names.map((name) => (needed.has(name) ? `${name} (required)` : name))
  return `The tool takes ${marked.join(', ')}.`
}

/** The supported revisions of MCP, newest first (design 23). */
export const protocolVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const
