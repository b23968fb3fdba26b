import type { AreaPage } from './area.ts'
import {
  choice,
  type Field,
  inputField,
  postForm,
  problemAlert,
  submitButton,
  textField,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type SiteLook, siteWords } from './site-look.ts'
import { inLink, languages, languageText, text } from './text.ts'

/** The look of a site as text fields. An empty field stands for the default. */
export type LookFields = Readonly<
  Record<'displayName' | 'accentColor' | 'backgroundColor' | 'signInWords' | 'consentWords', string>
>

export interface AppearancePage {
  readonly siteName: string
  readonly fields: LookFields
  readonly logoHref: string | undefined
  readonly problem: { readonly field: string | undefined; readonly text: HtmlValue } | undefined
  readonly previewAction: string
  /** The language whose texts the page shows; undefined for the texts of languages that have none of their own. */
  readonly language: string | undefined
  readonly hrefOf: (language: string | undefined) => string
  readonly choice: LanguageChoice
}

/** The languages of the site's pages and mail. */
interface LanguageChoice {
  readonly action: string
  readonly chosen: readonly string[]
  readonly standard: string | undefined
}

/** The page where operators change the look of a site's sign-in, consent and account pages. */
export function appearancePage({ language, ...page }: AppearancePage): AreaPage {
  const { problem } = page
  const action = page.hrefOf(language)
  const tabs = [undefined, ...languages].map((each) => ({
    label: each === undefined ? text('appearance.all') : languageText(each),
    href: page.hrefOf(each),
    current: each === language,
  }))
  const known =
    problem?.field !== undefined && (problem.field in page.fields || problem.field === 'logoFileId')
  const intro =
    language === undefined
      ? text('appearance.intro')
      : text('appearance.local', { language: languageText(language) })
  return {
    title: text('adminNav.appearance'),
    id: 'appearance-page',
    tabs,
    body: html`<p>${intro}</p>
${problem && !known && problemAlert('appearance-problem', problem.text)}
${postForm(
  { action, attributes: html` enctype="multipart/form-data"` },
  html`${lookFields(page, language)}
<div class="actions">
<button id="save-appearance" type="submit">${text('word.save')}</button>
<button id="preview" type="submit" class="second" formaction="${page.previewAction}" formtarget="_blank">${text('appearance.preview')}</button>
</div>`,
)}
${language === undefined && languageForm(page.choice)}`,
  }
}

function lookFields(
  { fields, problem, logoHref, siteName }: Omit<AppearancePage, 'language'>,
  language?: string,
): Html {
  const problemOf = (id: string) => (problem?.field === id ? problem.text : undefined)
  const field = (id: keyof LookFields, rest: Omit<Field, 'id' | 'problem'>): Field => ({
    ...{ id, ...rest },
    problem: problemOf(id),
  })
  const line = (id: keyof LookFields, label: HtmlValue, lengthMax: number, standard?: string) => {
    const attributes = html` type="text" maxlength="${lengthMax}" autocomplete="off" spellcheck="false" value="${fields[id]}" placeholder="${standard}"`
    return inputField(field(id, { label, attributes }))
  }
  const color = (id: 'accentColor' | 'backgroundColor', standard: string) =>
    line(id, text(`appearance.${id}`), 7, standard)
  const words = (id: 'signInWords' | 'consentWords') => {
    const attributes = html` rows="3" maxlength="500"`
    return textField(field(id, { label: text(`appearance.${id}`), attributes }), fields[id])
  }
  const name = line('displayName', text('word.name'), 120, siteName)
  if (language !== undefined) {
    return html`${name}\n${words('signInWords')}\n${words('consentWords')}`
  }
  const logo = inputField({
    ...{ id: 'logo', label: text('appearance.logoLabel'), problem: problemOf('logoFileId') },
    hint: text('appearance.logoHint'),
    attributes: html` type="file" accept="image/png,image/jpeg,image/webp"`,
  })
  return html`${name}
${logo}
${
  logoHref !== undefined &&
  html`<p><img src="${logoHref}" alt="${text('appearance.logo')}" height="48"></p>
<label class="choice"><input type="checkbox" name="removeLogo" value="yes"><span>${text('appearance.removeLogo')}</span></label>`
}
${color('accentColor', '#0c665a')}
${color('backgroundColor', '#f3f5f4')}
${words('signInWords')}
${words('consentWords')}`
}

function languageForm({ action, chosen, standard }: LanguageChoice): Html {
  const option = (value: string) =>
    html`<option value="${value}"${value === standard && html` selected`}>${languageText(value)}</option>`
  const box = (value: string) =>
    choice(
      { type: 'checkbox', name: 'languages', value, checked: chosen.includes(value) },
      languageText(value),
    )
  return html`<h2 id="languages">${text('appearance.languages')}</h2>
${postForm(
  { action },
  html`<label for="language">${text('appearance.standard')}</label>
<select id="language" name="language"><option value="">${text('account.browserLanguage')}</option>
${languages.map(option)}</select>
<fieldset><legend>${text('account.language')}</legend>
<p class="hint">${text('appearance.languagesHint')}</p>
${languages.map(box)}</fieldset>
${submitButton('save-languages', text('word.save'), { kind: 'second' })}`,
)}`
}

export interface LookPreviewPage {
  readonly look: SiteLook | undefined
  readonly siteName: string
  readonly words: string
  readonly language: string | undefined
}

/** Shows a sign-in page with colors and texts that are not saved yet. Its fields are disabled. */
export function lookPreviewPage({ look, siteName, words, language }: LookPreviewPage): Page {
  return {
    title: text('appearance.previewTitle'),
    id: 'preview-page',
    language,
    look,
    heading: text('word.signIn'),
    body: html`<p class="muted">${text('appearance.previewIntro')}</p>
${siteWords({ siteName, text: words })}
<fieldset disabled>
<label for="login">${text('form.email')}</label>
<input id="login" type="text">
<label for="password">${text('password.label')}</label>
<input id="password" type="password">
<div class="actions"><button type="button">${text('word.signIn')}</button></div>
</fieldset>
<p>${text('appearance.link', { a: inLink('#preview-page') })}</p>`,
  }
}
