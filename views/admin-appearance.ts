import { type AreaView, areaPage } from './area.ts'
import { type Field, inputField, postForm, problemAlert, textField } from './forms.ts'
import { type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type SiteLook, siteWords } from './site-look.ts'

/** The look of a site as text fields. An empty field stands for the default. */
export type LookFields = Readonly<
  Record<'displayName' | 'accentColor' | 'backgroundColor' | 'signInWords' | 'consentWords', string>
>

export interface AppearancePage {
  readonly area: AreaView
  readonly siteName: string
  readonly fields: LookFields
  readonly logoHref: string | undefined
  readonly problem: { readonly field: string | undefined; readonly text: HtmlValue } | undefined
  readonly action: string
  readonly previewAction: string
  readonly done: HtmlValue
}

/** Shows and changes how the sign-in, consent and account pages of a site look. */
export function appearancePage(page: AppearancePage): Page {
  const { area, siteName, fields, logoHref, problem, action, previewAction } = page
  const field = (id: keyof LookFields, rest: Omit<Field, 'id' | 'problem'>): Field => ({
    ...{ id, ...rest },
    problem: problem?.field === id ? problem.text : undefined,
  })
  const color = (id: 'accentColor' | 'backgroundColor', label: string, example: string) =>
    inputField(
      field(id, {
        label,
        hint: `Such as ${example}. Empty for the default.`,
        attributes: html` type="text" maxlength="7" autocomplete="off" spellcheck="false" value="${fields[id]}"`,
      }),
    )
  const words = (id: 'signInWords' | 'consentWords', label: string) =>
    textField(
      field(id, {
        label,
        hint: 'Plain text, at most 500 characters.',
        attributes: html` rows="3" maxlength="500"`,
      }),
      fields[id],
    )
  const known =
    problem?.field !== undefined && (problem.field in fields || problem.field === 'logoFileId')
  const logo = inputField({
    ...{
      id: 'logo',
      label: 'Logo',
      problem: problem?.field === 'logoFileId' ? problem.text : undefined,
    },
    hint: 'PNG, JPEG or WebP, at most 512 kB.',
    attributes: html` type="file" accept="image/png,image/jpeg,image/webp"`,
  })
  const name = inputField(
    field('displayName', {
      label: 'Name',
      hint: 'Empty for the name of the school.',
      attributes: html` type="text" maxlength="120" autocomplete="off" value="${fields.displayName}"`,
    }),
  )
  return areaPage({
    language: 'en',
    ...page,
    title: 'Appearance',
    id: 'appearance-page',
    body: html`<p>How the sign-in, consent and account pages of <bdi>${siteName}</bdi> look to your members.</p>
${problem && !known && problemAlert('appearance-problem', problem.text)}
${postForm(
  { action, csrf: area.csrf, attributes: html` enctype="multipart/form-data"` },
  html`${name}
${
  logoHref !== undefined &&
  html`<p><img class="logo" src="${logoHref}" alt="The present logo" height="48"></p>
<label class="choice"><input type="checkbox" name="removeLogo" value="yes"><span>Remove the logo</span></label>`
}
${logo}
${color('accentColor', 'Color of buttons and links', '#0c665a')}
${color('backgroundColor', 'Background color', '#f3f5f4')}
${words('signInWords', 'Text on the sign-in page')}
${words('consentWords', 'Text on the consent page')}
<div class="actions">
<button id="save-appearance" type="submit">Save</button>
<button id="preview" type="submit" class="second" formaction="${previewAction}" formtarget="_blank">Preview (new tab)</button>
</div>`,
)}`,
  })
}

export interface LookPreviewPage {
  readonly look: SiteLook | undefined
  readonly siteName: string
  readonly words: string
}

/** Shows a sign-in page with colors and texts that are not saved yet. Its fields cannot be used. */
export function lookPreviewPage({ look, siteName, words }: LookPreviewPage): Page {
  return {
    title: 'Preview of the sign-in page',
    id: 'preview-page',
    look,
    body: html`<h1>Sign in</h1>
<p>to continue to an app<br><span class="muted">This is a preview. A new logo appears after you save it.</span></p>
${words !== '' && siteWords({ siteName, text: words })}
<fieldset disabled>
<label for="login">E-mail address</label>
<input id="login" type="text">
<label for="password">Password</label>
<input id="password" type="password">
<div class="actions"><button type="button">Sign in</button></div>
</fieldset>
<p>A <a href="#preview-page">link</a> looks like this.</p>`,
  }
}
