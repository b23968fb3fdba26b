import type { AreaPage } from './area.ts'
import { snippet } from './connect-steps.ts'
import { buttonForm } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { copyScript } from './script.ts'
import { type Column, table } from './table.ts'
import { inCode, text, timeOf } from './text.ts'

/** The data for every page of a client (an application or resource server): facts, tabs, and the link to the list. */
export interface ClientFrame extends Required<Pick<AreaPage, 'back' | 'tabs'>> {
  readonly app: ClientFacts
  /** The path of the client's main page. The paths of the client's other pages and forms begin with it. */
  readonly href: string
}

export interface ClientFacts {
  readonly clientId: string
  readonly name: string
  readonly authMethod: 'none' | 'client_secret_post' | 'private_key_jwt'
  readonly createdAt: number
  readonly createdBy: string | undefined
  readonly disabledAt: number | undefined
  readonly secrets: readonly Secret[]
}

interface Secret {
  readonly id: string
  readonly hint: HtmlValue
  readonly createdAt: number
}

/** Creates a page of an application or resource server. @param what the subject of the page, for its title */
export function clientPage(
  frame: ClientFrame,
  what: HtmlValue,
  page: Pick<AreaPage, 'id' | 'body'>,
): AreaPage {
  const { back, tabs } = frame
  const { name, disabledAt } = frame.app
  return {
    ...{ ...page, back, tabs },
    scripts: [copyScript],
    title: what === undefined ? name : html`${name} – ${what}`,
    heading: html`<bdi>${name}</bdi>${disabledAt !== undefined && disabledTag}`,
  }
}

/** The data for the main page of an application or resource server. */
export interface SharedView extends ClientFrame {
  /** Whether another secret can be created. At most two are valid at a time. */
  readonly mayAddSecret: boolean
  /** A secret that was just created. It is shown only once. */
  readonly newSecret: string | undefined
}

/** States when, and by whom if known, an application or resource server was created. */
export function createdBy({ createdAt, createdBy: name }: ClientFacts): Html {
  const time = timeOf(createdAt)
  return name === undefined
    ? time
    : text('applications.by', { time, name: html`<bdi>${name}</bdi>` })
}

/** Shows the settings and secrets of an application or resource server, and how to disable, enable or delete it. */
export function sharedPage(
  page: SharedView,
  { id, settings }: { readonly id: string; readonly settings: Html },
): AreaPage {
  const { newSecret, href } = page
  const { authMethod, disabledAt } = page.app
  return clientPage(page, undefined, {
    id,
    body: html`${newSecret !== undefined && html`<div class="notice warning" role="status"><p>${text('secrets.copy')}</p>\n${snippet(newSecret, 'new-secret')}</div>`}
${settings}
${authMethod !== 'none' && secretSection(page)}
<h2>${text('secrets.stop')}</h2>
${
  disabledAt !== undefined &&
  html`<p>${text('secrets.disabledSince', { time: timeOf(disabledAt) })}</p>
${buttonForm({ action: `${href}/enable` }, 'enable', text('secrets.enable'))}`
}
<div class="actions">
${disabledAt === undefined && html`<a id="disable" class="button second" href="${href}/disable">${text('secrets.disable')}</a>`}
<a id="delete" class="button danger" href="${href}/delete">${text('secrets.delete')}</a>
</div>`,
  })
}

export const disabledTag = html` <span class="tag">${text('applications.disabled')}</span>`

const secretColumns: readonly Column<Secret>[] = [
  {
    heading: text('secrets.secret'),
    cell: ({ hint }) => text('secrets.endsWith', { hint: inCode(hint) }),
  },
  { heading: text('applications.created'), cell: ({ createdAt }) => timeOf(createdAt) },
]

function secretSection({ app: { secrets }, href, mayAddSecret }: SharedView): Html {
  const removal: Column<Secret> = {
    heading: text('word.action'),
    cell: ({ id, hint }) =>
      html`<a class="remove-secret" href="${href}/secrets/${encodeURIComponent(id)}/remove">${text('secrets.removeLink', { hint: inCode(hint) })}</a>`,
  }
  // The only secret cannot be removed.
  const columns = secrets.length > 1 ? [...secretColumns, removal] : secretColumns
  return html`<h2>${text('secrets.title')}</h2>
<p>${text('secrets.intro')}</p>
${table(text('secrets.title'), columns, secrets)}
${mayAddSecret && buttonForm({ action: `${href}/secrets` }, 'add-secret', text('secrets.add'), 'second')}`
}
