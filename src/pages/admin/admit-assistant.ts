import type { Assistant } from '../../config/assistant-table.ts'
import {
  type CheckedEntry,
  checkEntry,
  choosableScopes,
  entryOf,
  type TypedEntry,
} from '../applications/application-form.ts'
import { findApplication, listAssistantApplications } from '../applications/application-lists.ts'
import { APPLICATIONS_PER_SITE_MAX } from '../applications/application-store.ts'
import { callbacksOf, isOwnCallback } from '../assistants/callbacks.ts'
import type { Operator } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** One press. */
export interface Press {
  readonly assistant: Assistant
  /** The callback that only this connection has, as the operator entered it; empty without one. */
  readonly typed: string
  readonly operator: Operator
}

/** What became of it, or what is wrong with the callback, or with the whole. */
export type Admission =
  | 'made'
  | 'there'
  | 'added'
  | { readonly callback: string }
  | { readonly problem: string }

type Parts = Pick<AdminParts, 'applications' | 'database' | 'redirectRules'>

/**
 * Makes the site's application for an assistant, as if the operator had filled in the form: the same
 * rules hold. A site has one for each assistant; pressed again, it takes a further callback or stays as
 * it is.
 */
export async function admitAssistant(press: Press, parts: Parts): Promise<Admission> {
  const { assistant, typed, operator } = press
  const { ownCallback } = assistant
  if (ownCallback && !isOwnCallback(ownCallback, typed)) {
    return {
      callback: `Copy the whole Callback URL that ${assistant.name} shows: it begins with ${ownCallback.prefix} and ends with one name.`,
    }
  }
  const own = ownCallback ? [typed] : []
  const made = await findMade(press, parts)
  if (made) return await addCallbacks({ made, own, operator }, parts)

  const { applications, redirectRules } = parts
  const checked = checkEntry(entryFor(assistant, own, redirectRules.loopbackHosts), redirectRules)
  if (checked.kind === 'bad') return { problem: problemOf(checked) }
  const entry = { ...checked.application, assistant: assistant.id }
  const created = await applications.create(operator.site.id, entry, operator.actor)
  if (created === 'full') {
    const problem = `A site may have ${APPLICATIONS_PER_SITE_MAX} applications. Delete one first.`
    return { problem }
  }
  if (created !== 'taken') return 'made'
  // Somebody else pressed at the same moment.
  const theirs = await findMade(press, parts)
  return theirs ? await addCallbacks({ made: theirs, own, operator }, parts) : 'there'
}

/** The form as the table fills it in. */
function entryFor(
  assistant: Assistant,
  own: readonly string[],
  loopbackHosts: readonly string[],
): TypedEntry {
  return {
    name: assistant.name,
    redirectUris: [...callbacksOf(assistant, loopbackHosts), ...own].join('\n'),
    postLogoutRedirectUris: '',
    authMethod: 'none',
    scopes: choosableScopes.map(({ name }) => name),
  }
}

async function findMade({ assistant, operator: { site } }: Press, { database }: Parts) {
  const all = await listAssistantApplications(database.kysely, site.id)
  const found = all.find((each) => each.assistant === assistant.id)
  return found && (await findApplication(database.kysely, site.id, found.clientId))
}

interface Adding extends Pick<Press, 'operator'> {
  readonly made: NonNullable<Awaited<ReturnType<typeof findMade>>>
  readonly own: readonly string[]
}

async function addCallbacks(
  { made, own, operator }: Adding,
  { applications, redirectRules }: Parts,
): Promise<Admission> {
  const more = own.filter((uri) => !made.redirectUris.includes(uri))
  if (more.length === 0) return 'there'
  const typed = entryOf({ ...made, redirectUris: [...made.redirectUris, ...more] })
  const checked = checkEntry(typed, redirectRules)
  if (checked.kind === 'bad') return { callback: problemOf(checked) }
  await applications.update(made, checked.application, operator.actor)
  return 'added'
}

function problemOf({ problems }: Extract<CheckedEntry, { kind: 'bad' }>): string {
  return Object.values(problems).flat().join(' ')
}
