import { pathForChanges, paths } from '../../src/platform/http/paths.ts'
import type { Answers } from '../../tools/token/headless-person.ts'
import { olivia, sam } from '../support/gatehouse.ts'

export type WayName = 'member' | 'operator' | 'changes' | 'later'

export interface Call {
  readonly tool: string
  readonly values: Readonly<Record<string, unknown>>
  /** A text in the result. The tool returns it only with a token. */
  readonly answers: string
}

export interface Way {
  readonly name: WayName
  readonly path: string
  readonly person: Answers
  readonly calls: readonly Call[]
}

const id = 'crs_portrait'

/** An operator creates a member's client. An operator's client registers itself (specification, Client registration). */
export const ways: Readonly<Record<WayName, Way>> = {
  member: {
    ...{ name: 'member', path: paths.mcpMember, person: sam },
    calls: [{ tool: 'list_enrolled_courses', values: {}, answers: 'Reading Light' }],
  },
  operator: {
    ...{ name: 'operator', path: paths.mcpAdmin, person: olivia },
    calls: [{ tool: 'get_site', values: {}, answers: 'Northlight Academy' }],
  },
  /** The URL names what the client may change. The second call needs an approval. The host uploads a file to the last link. */
  changes: {
    ...{ name: 'changes', path: pathForChanges(['courses', 'storage']), person: olivia },
    calls: [
      { tool: 'update_course', values: { id, title: 'Faces' }, answers: 'Faces' },
      { tool: 'archive_course', values: { id }, answers: 'ARCHIVED' },
      { tool: 'request_upload', values: {}, answers: '/upload/' },
    ],
  },
  /** A client with a grant for reads needs more scopes. Runs only for clients that are known to refresh the token instead. */
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
