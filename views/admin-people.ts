import type { AreaPage, ListView } from './area.ts'
import { avatar } from './avatar.ts'
import {
  buttonForm,
  choice,
  fieldProblem,
  filterForm,
  inputField,
  postForm,
  problemAlert,
  searchField,
  submitButton,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { type Column, table } from './table.ts'
import { inLink, text, textIfAny, timeOf } from './text.ts'

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
  readonly search: string
  /** The role that filters the list; empty for all roles. */
  readonly role: string
  /** The number of matching people; a search counts only up to a limit. */
  readonly total: number
  readonly people: readonly MemberView[]
  readonly invitations: readonly InvitationView[]
  readonly action: string
  readonly inviteAction: string
  /** The input of a rejected invitation. */
  readonly typed: Readonly<Record<'email' | 'name', string>> & { readonly roles: readonly string[] }
  readonly problem: { readonly field: string | undefined; readonly text: HtmlValue } | undefined
}

/** The roles, highest first. */
export const siteRoles = ['owner', 'admin', 'lecturer', 'student'] as const

const roleName = (role: string) => textIfAny(`adminPeople.roleOf.${role.toUpperCase()}`) ?? role

/** Lists the people of a site, with a search, and the pending invitations. */
export function peoplePage(page: PeoplePage): AreaPage {
  const { total, people, search, role, invitations } = page
  const isNarrowed = search !== '' || role !== ''
  const none = text(isNarrowed ? 'adminPeople.noMatch' : 'adminPeople.none')
  const found = isNarrowed ? 'yes' : 'no'
  const invitationsTitle = text('adminPeople.invitations')
  const fields = html`${searchField(text('adminPeople.search'), search)}<div><label for="filter-role">${text('adminPeople.role')}</label>
<select id="filter-role" name="role">
<option value="">${text('adminPeople.anyRole')}</option>
${siteRoles.map((name) => html`<option value="${name}"${name === role && html` selected`}>${roleName(name)}</option>\n`)}</select></div>
`
  return {
    title: text('adminNav.people'),
    id: 'members-page',
    body: html`<p>${text('adminPeople.count', { found, total, a: inLink('#invite') })}</p>
${filterForm(fields, { isNarrowed, action: page.action })}
${table(text('adminNav.people'), columns, people, { none: html`<p class="empty" id="no-people">${none}</p>`, paging: page.pager })}
${
  invitations.length > 0 &&
  html`<h2>${invitationsTitle}</h2>
${table(invitationsTitle, invitationColumns(page), invitations)}`
}
<h2 id="invite">${text('adminPeople.invite')}</h2>
${inviteForm(page)}`,
  }
}

function badges(held: readonly string[]): Html[] {
  return held.map((name) => html`<span class="tag">${roleName(name)}</span> `)
}

const columns: readonly Column<MemberView>[] = [
  {
    heading: text('word.name'),
    cell: ({ name, href }) =>
      html`<span class="named">${avatar(name)}<a href="${href}"><bdi>${name}</bdi></a></span>`,
  },
  { heading: text('form.email'), cell: ({ email }) => html`<bdi>${email}</bdi>` },
  { heading: text('adminPeople.roles'), cell: (person) => badges(person.roles) },
  { heading: text('adminPeople.since'), cell: ({ since }) => timeOf(since) },
]

function invitationColumns({ inviteAction }: PeoplePage): Column<InvitationView>[] {
  const button = (id: string, what: string, label: HtmlValue) =>
    postForm(
      { action: inviteAction, hidden: { id, what }, attributes: html` class="inline"` },
      html`<button type="submit" class="second">${label}</button>`,
    )
  return [
    {
      heading: text('form.email'),
      cell: ({ email, name }) =>
        html`<bdi>${email}</bdi>${name !== undefined && html` (<bdi>${name}</bdi>)`}`,
    },
    { heading: text('adminPeople.roles'), cell: (invitation) => badges(invitation.roles) },
    { heading: text('adminPeople.until'), cell: ({ expiresAt }) => timeOf(expiresAt) },
    {
      heading: text('adminPeople.actions'),
      cell: ({ id }) =>
        html`${button(id, 'resend', text('adminPeople.resend'))} ${button(id, 'withdraw', text('adminPeople.withdraw'))}`,
    },
  ]
}

function inviteForm({ inviteAction, typed, problem }: PeoplePage): Html {
  const at = (field: string) => (problem?.field === field ? problem.text : undefined)
  const known = ['email', 'name', 'roles'].includes(problem?.field ?? '')
  const email = inputField({
    ...{ id: 'email', label: text('form.email'), problem: at('email') },
    hint: text('adminPeople.emailHint'),
    attributes: html` type="text" inputmode="email" autocomplete="off" maxlength="254" required value="${typed.email}"`,
  })
  const name = inputField({
    ...{ id: 'name', label: text('adminPeople.name'), problem: at('name') },
    attributes: html` type="text" autocomplete="off" maxlength="120" value="${typed.name}"`,
  })
  const held = problem ? typed.roles : ['student']
  return html`${problem && !known && problemAlert('people-problem', problem.text)}
${postForm(
  { action: inviteAction },
  html`${email}
${name}
${roleFields(held, at('roles'))}
${submitButton('send-invitation', text('adminPeople.send'))}`,
)}`
}

function roleFields(held: readonly string[], problem?: HtmlValue): Html {
  const box = (value: string) =>
    choice(
      { type: 'checkbox', name: 'role', value, checked: held.includes(value) },
      html`${roleName(value)}<span class="muted">${textIfAny(`adminPeople.does.${value.toUpperCase()}`)}</span>`,
    )
  return html`<fieldset>
<legend>${text('adminPeople.roles')}</legend>
${fieldProblem('role', problem)}
${siteRoles.map(box)}</fieldset>`
}

export interface MemberPage {
  readonly member: MemberView
  /** The apps that use the person's account at this site. */
  readonly apps: readonly { readonly name: string; readonly lastUsedAt: number | undefined }[]
  readonly problem: HtmlValue
  readonly backHref: string
  /** The path of this page. The paths of its forms begin with it. */
  readonly action: string
}

/** Shows a person at a site: roles, connected apps, and what the operator can do. */
export function memberPage(page: MemberPage): AreaPage {
  const { member, apps, problem, backHref, action } = page
  return {
    title: html`<bdi>${member.name}</bdi>`,
    id: 'member-page',
    back: { href: backHref, name: text('adminNav.people') },
    body: html`${problemAlert('member-problem', problem)}
<p><bdi>${member.email}</bdi><br><span class="muted">${text('adminPeople.memberSince', { time: timeOf(member.since) })}</span></p>
${postForm({ action: `${action}/roles` }, html`${roleFields(member.roles)}\n${submitButton('save-roles', text('adminPeople.saveRoles'))}`)}
<h2>${text('account.apps')}</h2>
${table(text('account.apps'), appColumns, apps, { none: html`<p class="empty" id="no-apps">${text('apps.none')}</p>` })}
${apps.length > 0 && html`<p><a id="end-access" class="button second" href="${action}/end-access">${text('adminPeople.endAccess')}</a></p>`}
<h2>${text('word.account')}</h2>
${buttonForm({ action: `${action}/recovery` }, 'send-recovery', text('adminPeople.sendRecovery'), 'second')}
<p><a id="remove" class="button danger" href="${action}/remove">${text('adminPeople.remove')}</a></p>`,
  }
}

const appColumns: readonly Column<MemberPage['apps'][number]>[] = [
  { heading: text('word.app'), cell: ({ name }) => html`<bdi>${name}</bdi>` },
  {
    heading: text('word.lastUsed'),
    cell: ({ lastUsedAt }) =>
      lastUsedAt === undefined ? text('grant.notYet') : timeOf(lastUsedAt),
  },
]
