import type { Browser } from 'playwright-core'

import { pathForChanges, paths } from '../../src/platform/http/paths.ts'
import type { Answers } from '../../tools/token/headless-person.ts'
import { olivia, sam } from '../support/gatehouse.ts'
import type { Desk } from './desk.ts'
import type { ModelServer } from './model-server.ts'

export interface Driving {
  readonly way: Way
  readonly address: string
  /** The client_id that an operator created for a member's client; undefined for a client that registers itself. */
  readonly clientId: string | undefined
  /** The scopes of the tools, for a client that does not discover them. */
  scopes(): Promise<readonly string[]>
  readonly folder: string
  readonly desk: Desk
  /** The browser for a client that is a web page. */
  readonly browser: Browser
  readonly model: ModelServer
  /** Calls the tools in `Way.calls` in order. Repeats a call after the person has approved it. Returns all results. */
  use(
    call: (tool: string, values: Readonly<Record<string, unknown>>) => Promise<string>,
  ): Promise<string>
}

/** Lets a client sign in and call the tools, as its documentation says. Returns the results that the client shows. */
export type Drive = (driving: Driving) => Promise<string>

export const SERVER = 'gatehouse'

export const QUESTION = 'What do I have here?'

/** Calls each tool with a command that asks the client's model a question. */
export const ask = async (
  { desk, model, use }: Driving,
  ...command: Parameters<Desk['succeed']>
): Promise<string> =>
  await use(async (tool, values) => {
    model.choose(tool, values)
    return await desk.succeed(...command)
  })

export type WayName = 'member' | 'operator' | 'changes' | 'later'

export interface Call {
  readonly tool: string
  readonly values: Readonly<Record<string, unknown>>
  /** A text in the result. The tool returns it only if the request has a token. */
  readonly answers: string
}

export interface Way {
  readonly name: WayName
  readonly path: string
  readonly person: Answers
  readonly calls: readonly Call[]
}

const id = 'crs_portrait'

/** Operators create the clients of members. Operators' clients register themselves (specification, Client registration). */
export const ways: Readonly<Record<WayName, Way>> = {
  member: {
    ...{ name: 'member', path: paths.mcpMember, person: sam },
    calls: [{ tool: 'list_enrolled_courses', values: {}, answers: 'Reading Light' }],
  },
  operator: {
    ...{ name: 'operator', path: paths.mcpAdmin, person: olivia },
    calls: [{ tool: 'get_site', values: {}, answers: 'Northlight Academy' }],
  },
  /** The path allows changes in two areas. The second call needs approval. The third returns a link for an upload. */
  changes: {
    ...{ name: 'changes', path: pathForChanges(['courses', 'storage']), person: olivia },
    calls: [
      { tool: 'update_course', values: { id, title: 'Faces' }, answers: 'Faces' },
      { tool: 'archive_course', values: { id }, answers: 'ARCHIVED' },
      { tool: 'request_upload', values: {}, answers: '/upload/' },
    ],
  },
  /** A client needs more scopes than its grant has. Runs only for clients known to refresh without requesting them. */
  later: {
    ...{ name: 'later', path: paths.mcpAdmin, person: olivia },
    calls: [
      {
        tool: 'sign_in',
        values: { as: 'operator', change: ['courses'] },
        answers: 'courses:write',
      },
    ],
  },
}

export const wayNames: readonly WayName[] = ['member', 'operator', 'changes', 'later']
