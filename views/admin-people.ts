import {
  type AreaView,
  areaConfirmPage,
  areaPage,
  type Confirmation,
  type ListView,
} from './area.ts'
import {
  fieldProblem,
  inputField,
  postForm,
  problemAlert,
  searchForm,
  submitButton,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type Column, table } from './table.ts'
import { timeOf } from './text.ts'

/** A person with a role at the site. Roles are named as in the Admin API, such as `OWNER`. */
export interface MemberView {
  readonly name: string
  readonly email: string
  readonly since: number
  readonly roles: readonly string[]
  readonly href: string
}

interface InvitationView extends Readonly<Record<'id' | 'email', string>> {
  readonly name: string | undefined
  readonly roles: readonly string[]
  readonly expiresAt: number
}

export interface PeoplePage extends ListView {
  readonly siteName: string
  readonly search: string
  /** The role that filters the list; empty for all. */
  readonly role: string
  /** The number of matching people. */
  readonly total: number
  readonly people: readonly MemberView[]
  readonly invitations: readonly InvitationView[]
  readonly action: string
  readonly inviteAction: string
  /** The input of a rejected invitation. */
  readonly typed: Readonly<Record<'email' | 'name', string>> & { readonly roles: readonly string[] }
  readonly problem: { readonly field: string | undefined; readonly text: string } | undefined
}

/** The roles and their rights, highest first. */
const roles: readonly (readonly [name: string, label: string, what: string])[] = [
  ['OWNER', 'Owner', 'runs the school, and manages its owners'],
  ['ADMIN', 'Admin', 'runs the school'],
  ['LECTURER', 'Lecturer', 'teaches courses'],
  ['STUDENT', 'Student', 'takes courses'],
]

const labels = new Map(roles.map(([name, label]) => [name, label]))

/** Lists the people of a site, with a search, and the pending invitations. */
export function peoplePage(page: PeoplePage): Page {
  const { siteName, total, people, search, role, invitations } = page
  const isNarrowed = search !== '' || role !== ''
  const none = isNarrowed
    ? 'No person matches.'
    : 'No person has joined yet. Invite the first person below.'
  const more = html`<div><label for="filter-role">Role</label>
<select id="filter-role" name="role">
<option value="">any</option>
${roles.map(([name, label]) => html`<option value="${name}"${name === role && html` selected`}>${label}</option>\n`)}</select></div>
`
  return areaPage({
    language: 'en',
    ...page,
    title: 'People',
    id: 'members-page',
    body: html`<p>${total.toLocaleString('en')} ${total === 1 ? 'person' : 'people'} ${isNarrowed ? 'found' : html`at <bdi>${siteName}</bdi>`}. <a href="#invite">Invite a person</a></p>
${searchForm({ action: page.action, label: 'Name or e-mail address', search, more, isNarrowed })}
${table('People', columns, people, { none: html`<p class="empty" id="no-people">${none}</p>`, paging: page.pager })}
${
  invitations.length > 0 &&
  html`<h2>Invitations without an answer</h2>
${table('Invitations without an answer', invitationColumns(page), invitations)}`
}
<h2 id="invite">Invite a person</h2>
${inviteForm(page)}`,
  })
}

function badges(held: readonly string[]): Html[] {
  return held.map((name) => html`<span class="tag">${labels.get(name) ?? name}</span> `)
}

const columns: readonly Column<MemberView>[] = [
  { heading: 'Name', cell: ({ name, href }) => html`<a href="${href}"><bdi>${name}</bdi></a>` },
  { heading: 'E-mail address', cell: ({ email }) => html`<bdi>${email}</bdi>` },
  { heading: 'Roles', cell: (person) => badges(person.roles) },
  { heading: 'Since', cell: ({ since }) => timeOf(since) },
]

function invitationColumns({ area, inviteAction }: PeoplePage): Column<InvitationView>[] {
  const button = (id: string, what: string, label: string) =>
    postForm(
      {
        action: inviteAction,
        csrf: area.csrf,
        hidden: { id, what },
        attributes: html` class="inline"`,
      },
      html`<button type="submit" class="second">${label}</button>`,
    )
  return [
    {
      heading: 'E-mail address',
      cell: ({ email, name }) =>
        html`<bdi>${email}</bdi>${name !== undefined && html` (<bdi>${name}</bdi>)`}`,
    },
    { heading: 'Roles', cell: (invitation) => badges(invitation.roles) },
    { heading: 'Works until', cell: ({ expiresAt }) => timeOf(expiresAt) },
    {
      heading: 'Actions',
      cell: ({ id }) =>
        html`${button(id, 'resend', 'Send again')} ${button(id, 'withdraw', 'Withdraw')}`,
    },
  ]
}

function inviteForm({ area, inviteAction, typed, problem }: PeoplePage): Html {
  const at = (field: string) => (problem?.field === field ? problem.text : undefined)
  const known = ['email', 'name', 'roles'].includes(problem?.field ?? '')
  const email = inputField({
    ...{ id: 'email', label: 'E-mail address', problem: at('email') },
    hint: 'The mail has a link that works once, for seven days.',
    attributes: html` type="text" inputmode="email" autocomplete="off" maxlength="254" required value="${typed.email}"`,
  })
  const name = inputField({
    ...{ id: 'name', label: 'Name (optional)', problem: at('name') },
    attributes: html` type="text" autocomplete="off" maxlength="120" value="${typed.name}"`,
  })
  const held = problem ? typed.roles.map((role) => role.toUpperCase()) : ['STUDENT']
  return html`${problem && !known && problemAlert('people-problem', problem.text)}
${postForm(
  { action: inviteAction, csrf: area.csrf },
  html`${email}
${name}
${roleFields(held, at('roles'))}
${submitButton('send-invitation', 'Send invitation')}`,
)}`
}

function roleFields(held: readonly string[], problem?: string): Html {
  const box = ([name, label, what]: (typeof roles)[number]) => html`<label class="choice">
<input type="checkbox" name="role" value="${name.toLowerCase()}"${held.includes(name) && html` checked`}>
<span>${label}<span class="muted">${what}</span></span>
</label>
`
  return html`<fieldset>
<legend>Roles</legend>
${fieldProblem('role', problem)}
${roles.map(box)}</fieldset>`
}

export interface MemberPage {
  readonly area: AreaView
  readonly member: MemberView
  /** The apps that use the person's account at this site. */
  readonly apps: readonly { readonly name: string; readonly lastUsedAt: number | undefined }[]
  readonly problem: HtmlValue
  readonly backHref: string
  /** The path of this page. The paths of its forms begin with it. */
  readonly action: string
  readonly done: HtmlValue
}

/** Shows a person of a site: roles, connected apps, and the operator's actions. */
export function memberPage(page: MemberPage): Page {
  const { area, member, apps, problem, backHref, action } = page
  const target = (path: string) => ({ action: `${action}/${path}`, csrf: area.csrf })
  const endAccess =
    apps.length > 0 &&
    html`<a id="end-access" class="button second" href="${action}/end-access">End all access…</a>`
  return areaPage({
    language: 'en',
    ...page,
    title: `${member.name}`,
    heading: html`<bdi>${member.name}</bdi>`,
    id: 'member-page',
    back: { href: backHref, name: 'People' },
    body: html`${problemAlert('member-problem', problem)}
<p><bdi>${member.email}</bdi><br><span class="muted">At the school since ${timeOf(member.since)}</span></p>
${postForm(target('roles'), html`${roleFields(member.roles)}\n${submitButton('save-roles', 'Save roles')}`)}
<h2>Connected apps</h2>
${table('Connected apps', appColumns, apps, { none: html`<p id="no-apps">No app uses this account at your school.</p>` })}
<div class="actions">${endAccess}</div>
<h2>Account</h2>
${postForm(
  target('recovery'),
  html`<p>If the person cannot sign in, send a mail with a link for a new password. It works once, for 20 minutes.</p>
${submitButton('send-recovery', 'Send recovery mail', { kind: 'second' })}`,
)}
<p><a id="remove" class="button danger" href="${action}/remove">Remove from the school…</a></p>`,
  })
}

const appColumns: readonly Column<MemberPage['apps'][number]>[] = [
  { heading: 'App', cell: ({ name }) => html`<bdi>${name}</bdi>` },
  {
    heading: 'Last used',
    cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'not yet' : timeOf(lastUsedAt)),
  },
]

export interface StopMemberPage extends Confirmation {
  readonly what: 'remove' | 'end-access'
  readonly name: string
}

/** Asks for confirmation before a person is removed, or all apps lose access to the account. */
export function stopMemberPage({ what, name, ...page }: StopMemberPage): Page {
  const removes = what === 'remove'
  return areaConfirmPage({
    language: 'en',
    ...page,
    title: removes ? 'Remove this person?' : 'End all access?',
    id: `${what}-page`,
    heading: removes
      ? html`Remove <bdi>${name}</bdi> from the school?`
      : html`End all access to the account of <bdi>${name}</bdi>?`,
    consequences: removes
      ? html`<p>The person loses all roles, and all apps lose access to the account at your school, at once. Purchases are kept, and
become available again if the person joins again.</p>`
      : html`<p>All apps lose access to the account at your school at once. The person stays at the school, and can connect apps again.</p>`,
    confirm: removes ? 'Remove' : 'End all access',
  })
}
