import type { Assistant } from '../../config/assistant-table.ts'
import type { Values } from '../../config/placeholders.ts'
import { isOwnCallback } from './callbacks.ts'
import { type Instruction, instructionOf } from './instructions.ts'

/** How one assistant is connected, for a page. */
export interface ConnectSteps {
  readonly id: string
  readonly name: string
  readonly where: string
  readonly instructions: readonly Instruction[]
  /** What its maker says about it, and when that was read. */
  readonly documentation: { readonly url: string; readonly read: string }
  /** It calls from its maker's servers, and so cannot reach a service on a loopback address. */
  readonly needsPublicAddress: boolean
}

/** A site as the steps name it. */
interface NamedSite {
  readonly name: string
  readonly slug: string
}

/** A member's way to the tools of their own data, with the client_id of an application of the site. */
export interface MemberWay {
  readonly site: NamedSite
  readonly application: {
    readonly clientId: string
    readonly scopes: readonly string[]
    readonly redirectUris: readonly string[]
  }
  readonly url: string
}

/** The steps of a member, with the callbacks that are registered where each connection has its own. */
export function memberSteps(assistant: Assistant, { site, application, url }: MemberWay) {
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

/** An operator's way to the tools of a site; the assistant registers itself. */
export interface OperatorWay {
  readonly site: NamedSite
  readonly url: string
  /** What is told to an assistant that has to be told. */
  readonly scopes: readonly string[]
}

export function operatorSteps(assistant: Assistant, way: OperatorWay): ConnectSteps {
  const { site, url, scopes } = way
  // One person may connect both, and has to tell them apart.
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

/** Whatever a slug holds, a plain word. */
function serverName({ slug }: NamedSite): string {
  const word = slug.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return word.slice(0, SERVER_LENGTH_MAX).replace(/^-+|-+$/g, '') || 'school'
}
