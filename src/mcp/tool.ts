import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import { z } from 'zod'

import packageJson from '../../package.json' with { type: 'json' }
import type { ExecuteAdmin } from '../admin-api/admin-api.ts'
import type { ExecuteMember } from '../member-api/member-api.ts'
import type { BearerToken } from '../resource-server/verdict.ts'
import type { PublicCourses } from '../sites/public-courses.ts'
import type { Cursors } from '../store/cursor.ts'

/** A JSON Schema (2020-12), as a client reads it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** For whom an agent acts. */
export type ToolAudience = 'member' | 'operator'

/** An address of the tools; the table of them is `tool-address.ts`. */
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
  /** What it takes and answers. Made when somebody asks, because a start should not wait for it. */
  readonly schemas: () => { readonly input: JsonSchema; readonly output: JsonSchema }
  /**
   * Checks the arguments and does the work.
   *
   * @throws ToolProblem when the caller can do better; every other error is a refusal or a fault
   */
  readonly run: (values: unknown, call: ToolCall) => Promise<object>
}

/** What a running tool may use. */
export interface ToolCall {
  /** Who calls; undefined when nobody signed in. */
  readonly caller: BearerToken | undefined
  /** The id of the request, which the audit trail keeps with a change. */
  readonly requestId: string
  readonly address: ToolAddress
  readonly parts: ToolParts
}

/**
 * Who calls a tool that is not public.
 *
 * @throws Error when nobody does: the way to the tool has been left open
 */
export function callerOf({ caller }: ToolCall): BearerToken {
  if (!caller) throw new Error('a tool that needs a token was called without one')
  return caller
}

/** What the composition root gives to the tools. */
export interface ToolParts {
  readonly service: { readonly name: string; readonly version: string; readonly baseUrl: string }
  /** The text of /auth.md. */
  readonly authGuide: () => string
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
  return { name: 'gatehouse', title: name, version, websiteUrl: baseUrl }
}

/** Something that the caller can mend, told as the result of the call and not as a failure of it. */
export class ToolProblem extends Error {}

/** What a tool is made of; its schemas are derived, so that what is checked is what is told. */
export interface ToolDefinition<Input extends z.ZodType, Output extends z.ZodType>
  extends Pick<Tool, 'name' | 'title' | 'description' | 'access' | 'accessFor'> {
  readonly input: Input
  readonly output: Output
  readonly run: (values: z.output<Input>, call: ToolCall) => Promise<z.input<Output>>
}

/** Makes a row of the catalogue, of a tool that reads. */
export function defineTool<Input extends z.ZodType, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const { input, output, run, ...described } = definition
  return {
    ...described,
    effect: 'reads',
    schemas: once(() => ({
      input: jsonSchemaOf(input, 'input'),
      output: jsonSchemaOf(output, 'output'),
    })),
    run: async (values, call) => await run(parseArguments(input, values), call),
  }
}

/** What a tool takes or answers; an argument that has a default may be absent. */
function jsonSchemaOf(type: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(type, { io })
  return schema
}

/**
 * The arguments of a call, checked.
 *
 * @throws ToolProblem with a sentence that names each argument to correct
 */
function parseArguments<Input extends z.ZodType>(input: Input, values: unknown): z.output<Input> {
  const parsed = input.safeParse(values ?? {})
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ')
  throw new ToolProblem(`The arguments do not fit. ${faults.slice(0, FAULTS_LENGTH_MAX)}`)
}

/** An argument's own name is repeated in what is wrong with it, and may be as long as the body. */
const FAULTS_LENGTH_MAX = 500

/** What a tool's row is to a client: the four hints are always said, because their defaults warn. */
export function describeTool({ name, title, description, effect, schemas }: Tool): ToolDescription {
  const { input, output } = schemas()
  return {
    name,
    title,
    description,
    // Arguments and answers are objects, which the SDK's type wants to read in the schema itself.
    inputSchema: input as ToolDescription['inputSchema'],
    outputSchema: output as ToolDescription['inputSchema'],
    annotations: {
      title,
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'destroys',
      idempotentHint: true,
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
