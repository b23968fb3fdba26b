import { type AreaPage, type Hrefs, plainList } from './area.ts'
import { postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type LinkForm, linkCodeField } from './recover.ts'
import { text } from './text.ts'

export interface DataPage {
  readonly hrefs: Hrefs<'deleteAccount' | 'downloadData'>
  readonly email: string
  /** The names of sites that need another owner before the account can be deleted. */
  readonly owned: readonly HtmlValue[]
  /** The code of the mailed link, if this browser requested the deletion. */
  readonly code: string | undefined
}

/** The page where a person downloads their data, or requests the deletion of their account. */
export function dataPage(page: DataPage): AreaPage {
  const download = html`<button id="download" type="submit" class="second">${text('data.download')}</button>`
  const remove = html`<button id="delete" type="submit" class="danger">${text('data.delete')}</button>`
  return {
    title: text('data.title'),
    id: 'data-page',
    body: html`<p>${text('data.intro')}</p>
${postForm({ action: page.hrefs.downloadData }, download)}
<h2>${text('data.deleteTitle')}</h2>
${
  page.code !== undefined &&
  html`<p class="notice" id="requested" role="status">${text('data.requested', { email: html`<bdi>${page.email}</bdi>`, code: html`<strong id="code">${page.code}</strong>` })}</p>`
}
<p>${text('data.how')}</p>
${ownedNotice(page.owned) ?? postForm({ action: page.hrefs.deleteAccount }, remove)}`,
  }
}

function ownedNotice(owned: readonly HtmlValue[]): Html | undefined {
  if (owned.length === 0) return undefined
  return html`<p class="notice" id="owned">${text('data.owned')}</p>
${plainList(owned.map((name) => html`<bdi>${name}</bdi>`))}`
}

export interface DeletionPage extends LinkForm {
  readonly problem: HtmlValue
  readonly owned: readonly HtmlValue[]
  /** The number of days during which signing in cancels the deletion. */
  readonly days: number
}

/** Says what will be deleted and what stays, and asks for confirmation. */
export function deletionPage(page: DeletionPage): Page {
  const button = submitButton('confirm', text('data.delete'), { kind: 'danger' })
  return {
    title: text('data.confirmHeading'),
    isWrong: page.problem !== undefined,
    id: 'deletion-page',
    body: html`<p>${text('form.for', { email: html`<bdi>${page.email}</bdi>` })}</p>
${problemAlert('form-problem', page.problem && text('data.notDeleted'))}
<ul>
<li>${text('data.atOnce')}</li>
<li>${text('data.later', { days: page.days })}</li>
<li>${text('data.stays')}</li>
</ul>
${ownedNotice(page.owned) ?? postForm(page, [page.needsCode && linkCodeField(page.problem), button])}`,
  }
}
