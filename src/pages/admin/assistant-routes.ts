import { assistantsPage, ownAssistantsPage } from '../../../views/admin-assistants.ts'
import { type Html, type HtmlValue, html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import type { Assistant } from '../../config/assistant-table.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages, pathForChanges, paths } from '../../platform/http/paths.ts'
import {
  checkEntry,
  choosableScopes,
  type EntryProblems,
  entryOf,
} from '../applications/application-form.ts'
import { findApplication, listAssistantApplications } from '../applications/application-lists.ts'
import { applicationKinds } from '../applications/application-store.ts'
import {
  assistantText,
  callbacksOf,
  isOwnCallback,
  operatorSteps,
} from '../assistants/connect-steps.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

/** A problem with the callback (`callback`) or with the whole form (`problem`). */
interface AdmissionProblem {
  readonly callback?: HtmlValue
  readonly problem?: HtmlValue
}

/** The result of adding an assistant: `made`, `there` (it existed before), `added` (only a callback), or a problem. */
type Admission = 'made' | 'there' | 'added' | AdmissionProblem

/** Registers the pages that add assistants for the members, and show operators how to connect their own assistants. */
export function assistantRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { assistants, baseUrl, discovery, reviews, scopeUses } = parts

  operatorPages.page(pages.assistants, (operator) => showList(operator, parts))
  operatorPages.whereOn.form(pages.assistants, async (operator, ctx) => {
    const assistant = assistants.find(({ id }) => id === formField(ctx, 'assistant'))
    if (!assistant) throw nothingHere()
    const typed = formField(ctx, 'callback').trim()
    const outcome = await admitAssistant(assistant, typed, operator, parts)
    if (typeof outcome === 'string') return `${operator.address(pages.assistants)}?done=${outcome}`
    return invalid(ctx, await showList(operator, parts, { id: assistant.id, typed, ...outcome }))
  })
  operatorPages.page(pages.ownAssistants, async ({ site, address }, ctx) => {
    const changeable = scopeUses.changeableAreas()
    const ticked = new URLSearchParams(ctx.querystring).getAll('change')
    const areas = changeable.filter((each) => ticked.includes(each))
    const url = baseUrl + (areas.length > 0 ? pathForChanges(areas) : paths.mcpAdmin)
    const scopes = discovery.scopesOf('mcpAdmin', areas)
    /** Returns the URL for approving an assistant's metadata document; undefined if no approval is needed. */
    const approvalOf = async ({ document: client }: Assistant) => {
      if (!reviews || client === undefined || areas.length === 0) return undefined
      const found = await reviews.findDocumentClient(site.id, client)
      const review = `${address(pages.approveDocumentClient)}?${new URLSearchParams({ client })}`
      return found?.state === 'approved' ? undefined : review
    }
    const steps = assistants.map(async (assistant) => ({
      ...operatorSteps(assistant, site, url, scopes),
      approveHref: await approvalOf(assistant),
    }))
    return ownAssistantsPage({
      address: url,
      action: address(pages.ownAssistants),
      areas: changeable.map((name) => ({ name, checked: areas.includes(name) })),
      assistants: await Promise.all(steps),
      local: isLoopbackUrl(baseUrl),
      reviewsHref: address(pages.documentClients),
      backHref: address(pages.assistants),
    })
  })
}

async function showList(
  { site, address }: Operator,
  { database, assistants, baseUrl }: AdminParts,
  wrong?: AdmissionProblem & { readonly id: string; readonly typed: string },
) {
  const on = site.mcpConnectionsOnSince !== undefined
  const made = await listAssistantApplications(database.kysely, site.id)
  return assistantsPage({
    switchOnAction: on ? undefined : address(pages.betaOn),
    assistants: assistants.map(({ id, name, where, ownCallback }) => {
      const application = made.find((each) => each.assistant === id)
      const mistaken = wrong?.id === id ? wrong : undefined
      return {
        ...{ id, name, where: assistantText(where) },
        application: application && {
          name: application.name,
          href: address(pages.application, { client: application.clientId }),
          disabled: application.isDisabled,
        },
        ownCallback: ownCallback && assistantText(ownCallback.find, baseUrl + paths.mcpMember),
        typed: mistaken?.typed ?? '',
        problem: mistaken?.callback,
      }
    }),
    memberAddress: baseUrl + addressOf(pages.connect, { site: site.slug }),
    ownHref: address(pages.ownAssistants),
    problem: wrong?.problem,
  })
}

/**
 * Creates the site's application for an assistant, with all member scopes. If the application exists, adds the callback
 * or changes nothing. The rules of the application form apply. `typed` is the entered callback, if any.
 */
async function admitAssistant(
  assistant: Assistant,
  typed: string,
  { site, actor }: Operator,
  { applications, database: { kysely }, redirectRules }: AdminParts,
): Promise<Admission> {
  const { ownCallback } = assistant
  if (ownCallback && !isOwnCallback(ownCallback, typed)) {
    return {
      callback: text('adminAssistants.wrongCallback', {
        name: html`<bdi>${assistant.name}</bdi>`,
        pattern: ownCallback.pattern,
      }),
    }
  }
  const own = ownCallback ? [typed] : []

  /** Adds the callback to the site's application. Returns undefined if there is no application yet. */
  const addCallback = async (): Promise<Admission | undefined> => {
    const all = await listAssistantApplications(kysely, site.id)
    const listed = all.find((each) => each.assistant === assistant.id)
    const made = listed && (await findApplication(kysely, site.id, listed.clientId))
    if (!made) return undefined
    const more = own.filter((uri) => !made.redirectUris.includes(uri))
    if (more.length === 0) return 'there'
    const entry = entryOf({ ...made, redirectUris: [...made.redirectUris, ...more] })
    const checked = checkEntry(entry, redirectRules)
    if (checked.kind === 'bad') return { callback: sentencesOf(checked.problems) }
    await applications.update(made, checked.application, actor)
    return 'added'
  }

  const known = await addCallback()
  if (known) return known
  const entry = {
    name: assistant.name,
    redirectUris: [...callbacksOf(assistant, redirectRules.loopbackHosts), ...own].join('\n'),
    postLogoutRedirectUris: '',
    authMethod: 'none',
    scopes: choosableScopes().map(({ name }) => name),
  }
  const checked = checkEntry(entry, redirectRules)
  if (checked.kind === 'bad') return { problem: sentencesOf(checked.problems) }
  const newApplication = { ...checked.application, assistant: assistant.id }
  const created = await applications.create(site.id, newApplication, actor)
  if (created === 'full') {
    return { problem: text('applications.tooMany', { count: applicationKinds.site.perSiteMax }) }
  }
  if (created !== 'taken') return 'made'
  // Either another operator added the assistant at the same time, or another application has its name.
  const problem = text('adminAssistants.sameName', { name: html`<bdi>${assistant.name}</bdi>` })
  return (await addCallback()) ?? { problem }
}

function sentencesOf(problems: EntryProblems): Html {
  const sentences = Object.values(problems).flat().filter(Boolean)
  return html`${sentences.map((sentence) => html`${sentence} `)}`
}
