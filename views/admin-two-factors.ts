import type { AreaPage } from './area.ts'
import { choice, postForm, submitButton } from './forms.ts'
import { html } from './html.ts'
import { text, textIfAny } from './text.ts'

/** The choices for the maximum age of a sign-in, in seconds; 0 for no maximum. */
export const maxAges = [0, 3600, 86_400, 2_592_000] as const

export interface TwoFactorsPage {
  readonly demand: { areas: readonly string[]; maxAgeSeconds?: number | undefined } | undefined
  /** Whether the requirement covers all operator operations. */
  readonly isAll: boolean
  /** All areas of operator scopes. */
  readonly areas: readonly string[]
  /** Whether people of the site may remove a lost authenticator app by e-mail. */
  readonly hasReset: boolean
}

/** The form with which an owner requires two factors for some or all operations of a site's operators. */
export function twoFactorsPage(page: TwoFactorsPage): AreaPage {
  const { demand, isAll, areas, hasReset } = page
  const isChosen = (value: string) => demand?.areas.includes(value) ?? false
  const option = (value: 'nothing' | 'sensitive' | 'everything', checked: boolean) =>
    choice({ type: 'radio', name: 'for', value, checked }, text(`demand.${value}`))
  const fields = html`<fieldset><legend>${text('demand.for')}</legend>
${option('nothing', !demand)}
${option('sensitive', demand !== undefined && !isAll)}
${option('everything', isAll)}</fieldset>
<label for="max-age">${text('demand.maxAge')}</label>
<select id="max-age" name="max-age">
${maxAges.map((seconds) => html`<option value="${seconds}"${seconds === (demand?.maxAgeSeconds ?? 0) && html` selected`}>${text('demand.within', { seconds })}</option>\n`)}</select>
<details${areas.some(isChosen) && html` open`}><summary id="areas">${text('demand.areas')}</summary>
<fieldset aria-labelledby="areas">
${areas.map((value) => choice({ type: 'checkbox', name: 'area', value, checked: isChosen(value) }, textIfAny(`scope.${value}`) ?? html`${value}`))}
</fieldset></details>
<fieldset><legend>${text('demand.lost')}</legend>
${choice({ type: 'checkbox', name: 'reset', value: 'yes', checked: hasReset }, text('demand.reset'))}
<p class="small">${text('demand.resetHint')}</p>
</fieldset>
${submitButton('save', text('word.save'))}`
  return {
    title: text('adminNav.twoFactors'),
    id: 'two-factors-page',
    body: html`<p>${text('demand.intro')}</p>
${postForm({}, fields)}`,
  }
}
