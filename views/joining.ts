import { newPasswordFields, type PasswordProblems, usernameField } from './account-security.ts'
import { buttonForm, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { codeField, type LinkForm } from './recover.ts'
import { showPasswordScript } from './script.ts'
import type { SiteLook } from './site-look.ts'

/** The values that the pages about joining a site show. */
export interface JoinPage {
  readonly siteName: string
  readonly action: string
  readonly csrf: string
  readonly look: SiteLook | undefined
  readonly email: string
  readonly roles: readonly string[]
}

export interface NewAccountPage extends JoinPage, LinkForm {
  readonly name: string
  readonly charactersMin: number
  readonly problems?: NewAccountProblems | undefined
}

export interface NewAccountProblems extends PasswordProblems {
  readonly name?: string | undefined
}

/** Asks for the name and the password of a new account. */
export function newAccountPage(page: NewAccountPage): Page {
  const { problems = {}, email } = page
  const isWrong = Object.values(problems).some(Boolean)
  const fields = html`${usernameField(email)}
${page.needsCode && codeField(problems.code)}
${inputField({
  id: 'name',
  label: 'Your name',
  problem: problems.name,
  attributes: html` type="text" autocomplete="name" maxlength="120" required value="${page.name}"`,
})}
${newPasswordFields(page)}
${submitButton('save', 'Create account')}`
  return {
    title: isWrong ? 'Your account: please correct' : 'Your account',
    id: 'new-account-page',
    scripts: [showPasswordScript],
    look: page.look,
    body: html`<h1>Join <bdi>${page.siteName}</bdi></h1>
<p>Create an account for <bdi>${email}</bdi>. ${rolesSentence(page.roles)}</p>
${problemAlert('form-problem', isWrong ? 'No account was created. Please correct what is marked below.' : undefined)}
${postForm(page, fields)}`,
  }
}

/** Asks a person who has an account whether to join a site. */
export function joinPage(page: JoinPage): Page {
  const answers = html`<div class="actions">
<button id="accept" type="submit" name="answer" value="accept">Join</button>
<button id="decline" type="submit" name="answer" value="decline" class="second">Decline</button>
</div>`
  return {
    title: `Join ${page.siteName}?`,
    id: 'join-page',
    look: page.look,
    body: html`<h1>Join <bdi>${page.siteName}</bdi>?</h1>
<p>You are signed in as <bdi>${page.email}</bdi>. ${rolesSentence(page.roles)}</p>
<p>If you join, operators of <bdi>${page.siteName}</bdi> can see your name, your e-mail address and your picture.</p>
${postForm(page, answers)}`,
  }
}

/** Explains that a link is for another account, with a button to sign in with that account. */
export function otherAccountPage(page: JoinPage & { readonly signedInAs: string }): Page {
  return {
    title: 'This link is for another account',
    id: 'other-account-page',
    look: page.look,
    body: html`<h1>This link is for another account</h1>
<p>It was sent to <bdi>${page.email}</bdi>. You are signed in as <bdi>${page.signedInAs}</bdi>. Only the person
who received the message can join <bdi>${page.siteName}</bdi> with it.</p>
${buttonForm({ ...page, hidden: { answer: 'switch' } }, 'switch', 'Sign in with another account')}`,
  }
}

export interface JoinedPage extends Pick<JoinPage, 'siteName' | 'look'> {
  readonly isDeclined: boolean
  readonly continueHref: string
  readonly connectHref: string
}

/** Confirms that the person joined, or declined. */
export function joinedPage(page: JoinedPage): Page {
  const { siteName, isDeclined } = page
  const [title, heading] = isDeclined
    ? ['Declined', html`You did not join <bdi>${siteName}</bdi>`]
    : ['Joined', html`You are now a member of <bdi>${siteName}</bdi>`]
  return {
    title,
    id: 'joined-page',
    look: page.look,
    body: html`<h1>${heading}</h1>
${isDeclined ? html`<p>The link no longer works. An operator can invite you again.</p>` : html`<p>You can also <a href="${page.connectHref}">connect an assistant</a>.</p>`}
<p><a id="continue" class="button" href="${page.continueHref}">Continue</a></p>`,
  }
}

function rolesSentence(roles: readonly string[]): Html {
  return html`Your role${roles.length > 1 && 's'} there: <strong>${roles.join(', ')}</strong>.`
}
