import { type AreaView, areaPage } from './area.ts'
import { postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { codeField, type LinkForm } from './recover.ts'
import { timeOf } from './time.ts'

export interface DataPage {
  readonly area: AreaView
  readonly downloadAction: string
  readonly deleteAction: string
  readonly email: string
  /** The names of sites that need another owner before the account can be deleted. */
  readonly owned: readonly string[]
  /** The code of the mailed link, if this browser requested the deletion. */
  readonly code: string | undefined
  readonly done: string | undefined
}

/** The page where a person downloads their data, and asks for the deletion of the account. */
export function dataPage(page: DataPage): Page {
  const { csrf } = page.area
  const download = html`<button id="download" type="submit" class="second">Download my data</button>`
  const remove = html`<button id="delete" type="submit" class="danger">Delete my account</button>`
  return areaPage({
    ...page,
    title: 'Your data',
    id: 'data-page',
    body: html`<p>Download everything that is stored about you, as one JSON file.</p>
${postForm({ action: page.downloadAction, csrf }, download)}
<h2>Delete your account</h2>
${
  page.code !== undefined &&
  html`<p class="notice" id="requested" role="status">We sent a message to <bdi>${page.email}</bdi>. Open its link in this
browser within an hour. Another browser asks for this code: <strong id="code">${page.code}</strong></p>`
}
<p>We send you a message with a link, on which you confirm the deletion.</p>
${ownedNotice(page.owned) ?? postForm({ action: page.deleteAction, csrf }, remove)}`,
  })
}

function ownedNotice(owned: readonly string[]): Html | undefined {
  if (owned.length === 0) return undefined
  return html`<p class="notice" id="owned">You are the only owner of these sites. Make another person an owner first:</p>
<ul>
${owned.map((name) => html`<li><bdi>${name}</bdi></li>\n`)}</ul>`
}

export interface DeletionPage extends LinkForm {
  readonly problem: string | undefined
  readonly owned: readonly string[]
  /** For how many days signing in cancels the deletion. */
  readonly days: number
}

/** Says what will be deleted and what stays, and asks for confirmation. */
export function deletionPage(page: DeletionPage): Page {
  const button = submitButton('confirm', 'Delete my account', { kind: 'danger' })
  return {
    title: page.problem ? 'Delete your account: please correct' : 'Delete your account?',
    id: 'deletion-page',
    body: html`<h1>Delete your account?</h1>
<p>for <bdi>${page.email}</bdi></p>
${problemAlert('form-problem', page.problem && 'Nothing was deleted. Please correct what is marked below.')}
<ul>
<li>At once, you are signed out in all browsers, and your connected apps lose access.</li>
<li>After ${page.days} days, your name, address, password, roles, progress and messages are deleted. Until then, signing
in keeps your account.</li>
<li>Orders, purchases and the record of changes stay, without your name. So do files and announcements that you made for
a site.</li>
</ul>
${ownedNotice(page.owned) ?? postForm(page, [page.needsCode && codeField(page.problem), button])}`,
  }
}

/** Says when the account will be deleted, and how to keep it. */
export function deletionScheduledPage(page: {
  readonly dueAt: number
  readonly keepHref: string
}): Page {
  return {
    title: 'Your account will be deleted',
    id: 'deletion-scheduled-page',
    body: html`<h1>Your account will be deleted</h1>
<p>You are signed out. After ${timeOf(page.dueAt)}, your data is deleted, and you get a message. To keep your account,
sign in before then, here or in any app.</p>
<p><a id="keep" class="button second" href="${page.keepHref}">Sign in and keep my account</a></p>`,
  }
}
