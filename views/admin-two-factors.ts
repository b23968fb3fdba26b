import { type AreaView, areaPage } from './area.ts'
import { choice, postForm, submitButton } from './forms.ts'
import { type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'

/** The choices for the maximum age of a sign-in, in seconds, with their labels. */
export const maxAges = [
  [undefined, 'at any time'],
  [3600, 'within the last hour'],
  [86_400, 'within the last day'],
  [2_592_000, 'within the last 30 days'],
] as const

export interface TwoFactorsPage {
  readonly area: AreaView
  readonly siteName: string
  readonly demand: { areas: readonly string[]; maxAgeSeconds?: number | undefined } | undefined
  /** Whether the demand covers all operations of operators. */
  readonly isAll: boolean
  /** All areas of operator scopes. */
  readonly areas: readonly string[]
  /** Whether people of the site may remove a lost authenticator app by mail. */
  readonly hasReset: boolean
  readonly action: string
  readonly homeHref: string
  readonly done: HtmlValue
}

/** The form with which an owner demands two factors for sensitive operations of a site. */
export function twoFactorsPage(page: TwoFactorsPage): Page {
  const { area, demand, isAll, areas, hasReset, action, homeHref: href } = page
  const option = (value: string, checked: boolean, words: string) =>
    choice({ type: 'radio', name: 'for', value, checked }, html`${words}`)
  const fields = html`<fieldset><legend>Operators need two factors</legend>
${option('nothing', !demand, 'for nothing')}
${option('sensitive', demand !== undefined && !isAll, 'for secrets, roles, deletions and how people sign in')}
${option('everything', isAll, 'for everything that they do at this site')}</fieldset>
<label for="max-age">The sign-in must have happened (for applications and assistants)</label>
<select id="max-age" name="max-age">
${maxAges.map(([seconds, words]) => html`<option value="${seconds?.toString() ?? ''}"${seconds === demand?.maxAgeSeconds && html` selected`}>${words}</option>\n`)}</select>
<fieldset><legend>With the second choice, also when an application or assistant uses anything of</legend>
${areas.map((value) => choice({ type: 'checkbox', name: 'area', value, checked: demand?.areas.includes(value) ?? false }, html`${value.replaceAll('_', ' ')}`))}
</fieldset>
<fieldset><legend>Lost authenticator apps</legend>
${choice({ type: 'checkbox', name: 'reset', value: 'yes', checked: hasReset }, html`People of this site may remove a lost app with their password and a link by mail`)}
<p class="small">It works for people all of whose sites allow it, except platform reviewers.</p>
</fieldset>
${submitButton('save', 'Save', { cancelHref: href })}`
  return areaPage({
    language: 'en',
    ...page,
    title: 'Two factors',
    id: 'two-factors-page',
    back: { href, name: page.siteName },
    body: html`<p>Two factors are a passkey, or a password with a second factor. They are then needed here and through
applications. An operator without a second factor is told how to add one.</p>
${postForm({ action, csrf: area.csrf }, fields)}`,
  })
}
