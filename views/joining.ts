import { newPasswordFields, type PasswordProblems, usernameField } from './account-security.ts'
import { buttonForm, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { roleList } from './person-view.ts'
import { type LinkForm, linkCodeField } from './recover.ts'
import { showPasswordScript } from './script.ts'
import { text } from './text.ts'

export interface JoinPage {
  readonly siteName: HtmlValue
  readonly action: string
  readonly csrf: string
  readonly email: string
  readonly roles: readonly string[]
}

export interface NewAccountPage extends JoinPage, LinkForm {
  readonly name: string
  readonly charactersMin: number
  readonly problems?: NewAccountProblems | undefined
}

export interface NewAccountProblems extends PasswordProblems {
  readonly name?: HtmlValue
}

/** Asks for the name and the password of a new account. */
export function newAccountPage(page: NewAccountPage): Page {
  const { problems = {}, email } = page
  const isWrong = Object.values(problems).some(Boolean)
  const fields = html`${usernameField(email)}
${page.needsCode && linkCodeField(problems.code)}
${inputField({
  id: 'name',
  label: text('join.name'),
  problem: problems.name,
  attributes: html` type="text" autocomplete="name" maxlength="120" required value="${page.name}"`,
})}
${newPasswordFields(page)}
${submitButton('save', text('join.create'))}`
  return {
    title: text('join.heading', { site: html`<bdi>${page.siteName}</bdi>` }),
    isWrong,
    id: 'new-account-page',
    scripts: [showPasswordScript],
    body: html`<p>${text('join.for', { email: html`<bdi>${email}</bdi>` })} ${rolesSentence(page.roles)}</p>
${problemAlert('form-problem', isWrong ? text('join.notCreated') : undefined)}
${postForm(page, fields)}`,
  }
}

/** Asks a person who has an account whether to join a site. */
export function joinPage(page: JoinPage): Page {
  const answers = html`<div class="actions">
<button id="accept" type="submit" name="answer" value="accept">${text('join.accept')}</button>
<button id="decline" type="submit" name="answer" value="decline" class="second">${text('join.decline')}</button>
</div>`
  return {
    title: text('join.ask', { site: html`<bdi>${page.siteName}</bdi>` }),
    id: 'join-page',
    body: html`<p>${text('join.signedInAs', { email: html`<bdi>${page.email}</bdi>` })} ${rolesSentence(page.roles)}</p>
<p>${text('join.shows', { site: html`<bdi>${page.siteName}</bdi>` })}</p>
${postForm(page, answers)}`,
  }
}

/** Explains that a link is for another account, with a button to sign in with that account. */
export function otherAccountPage(page: JoinPage & { readonly signedInAs: string }): Page {
  return {
    title: text('join.other'),
    id: 'other-account-page',
    body: html`<p>${text('join.otherText', { email: html`<bdi>${page.email}</bdi>`, signedInAs: html`<bdi>${page.signedInAs}</bdi>`, site: html`<bdi>${page.siteName}</bdi>` })}</p>
${buttonForm({ ...page, hidden: { answer: 'switch' } }, 'switch', text('join.switch'))}`,
  }
}

function rolesSentence(roles: readonly string[]): Html {
  return text('join.roles', {
    count: roles.length,
    roles: html`<strong>${roleList(roles)}</strong>`,
  })
}
