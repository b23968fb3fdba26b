import type { AreaPage, Tab } from './area.ts'
import { snippet } from './connect-steps.ts'
import { buttonForm } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { copyScript } from './script.ts'
import { type Column, table } from './table.ts'
import { inCode, text, timeOf } from './text.ts'

/** The data that all pages of an application or resource server share: its list, its name and its tabs. */
export interface ClientFrame extends Required<Pick<AreaPage, 'back'>> {
  readonly name: string
  readonly disabledAt: number | undefined
  readonly tabs: readonly Tab[]
}

/** Creates a page of an application or resource server. @param what the subject of the page, for its title */
export function clientPage(
  frame: ClientFrame,
  what: HtmlValue,
  page: Pick<AreaPage, 'id' | 'body'>,
): AreaPage {
  const { name, disabledAt, back, tabs } = frame
  return {
    ...{ ...page, back, tabs },
    scripts: [copyScript],
    title: what === undefined ? name : html`${name} – ${what}`,
    heading: html`<bdi>${name}</bdi>${disabledAt !== undefined && disabledTag}`,
  }
}

/** The data common to the pages of applications and resource servers. */
export interface SharedView extends ClientFrame {
  readonly secrets: readonly {
    readonly hint: HtmlValue
    readonly createdAt: number
    /** The page that removes the secret; undefined for the only secret, which cannot be removed. */
    readonly removeHref: string | undefined
  }[]
  /** Whether another secret can be created: at most two are valid at a time. */
  readonly mayAddSecret: boolean
  /** A secret that was just created. It is shown only once. */
  readonly newSecret: string | undefined
  /** `remove` and `disable` ask for confirmation; `addSecret` and `enable` are the URLs of forms. */
  readonly hrefs: Readonly<Record<'addSecret' | 'remove' | 'disable' | 'enable', string>>
}

/** A resource server in a list. */
export interface ListedClient {
  readonly name: string
  readonly clientId: string
  readonly disabled: boolean
  readonly href: string
}

export interface ClientFacts {
  readonly clientId: string
  readonly name: string
  readonly createdAt: number
  readonly createdBy: string | undefined
  readonly disabledAt: number | undefined
}

/** States when, and by whom if known, an application or resource server was created. */
export function createdBy({ createdAt, createdBy: name }: ClientFacts): Html {
  const time = timeOf(createdAt)
  return name === undefined
    ? time
    : text('applications.by', { time, name: html`<bdi>${name}</bdi>` })
}

interface Parts {
  readonly id: string
  readonly settings: Html
  /** Whether secrets can be created and removed. */
  readonly hasSecrets: boolean
}

/** Shows the settings and secrets of an application or resource server, and links to disable or delete it. */
export function sharedPage(page: SharedView, parts: Parts): AreaPage {
  const { newSecret, hrefs, disabledAt } = page
  return clientPage(page, undefined, {
    id: parts.id,
    body: html`${newSecret !== undefined && secretNotice(newSecret)}
${parts.settings}
${parts.hasSecrets && secretSection(page)}
<h2>${text('secrets.stop')}</h2>
${
  disabledAt !== undefined &&
  html`<p>${text('secrets.disabledSince', { time: timeOf(disabledAt) })}</p>
${buttonForm({ action: hrefs.enable }, 'enable', text('secrets.enable'))}`
}
<div class="actions">
${disabledAt === undefined && html`<a id="disable" class="button second" href="${hrefs.disable}">${text('secrets.disable')}</a>`}
<a id="delete" class="button danger" href="${hrefs.remove}">${text('secrets.delete')}</a>
</div>`,
  })
}

export const disabledTag = html` <span class="tag">${text('applications.disabled')}</span>`

function secretNotice(secret: string): Html {
  return html`<div class="notice warning" role="status">
<p>${text('secrets.copy')}</p>
${snippet(secret, 'new-secret')}
</div>`
}

const secretColumns: readonly Column<SharedView['secrets'][number]>[] = [
  {
    heading: text('secrets.secret'),
    cell: ({ hint }) => text('secrets.endsWith', { hint: inCode(hint) }),
  },
  { heading: text('applications.created'), cell: ({ createdAt }) => timeOf(createdAt) },
  {
    heading: text('word.action'),
    cell: ({ hint, removeHref }) =>
      removeHref !== undefined &&
      html`<a class="remove-secret" href="${removeHref}">${text('secrets.removeLink', { hint: inCode(hint) })}</a>`,
  },
]

function secretSection({ secrets, mayAddSecret, hrefs }: SharedView): Html {
  return html`<h2>${text('secrets.title')}</h2>
<p>${text('secrets.intro')}</p>
${table(text('secrets.title'), secrets.length > 1 ? secretColumns : secretColumns.slice(0, 2), secrets)}
${mayAddSecret && buttonForm({ action: hrefs.addSecret }, 'add-secret', text('secrets.add'), 'second')}`
}
