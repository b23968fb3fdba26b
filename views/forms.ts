/** Renders forms and their fields. */

import { type Html, type HtmlValue, html, localized, type Reader } from './html.ts'
import { text } from './text.ts'

/** The target of a form. Defaults to the path of the page and the CSRF token of the session. */
export interface FormTarget {
  readonly action?: string | undefined
  readonly csrf?: string | undefined
  readonly hidden?: Readonly<Record<string, string>> | undefined
  readonly attributes?: Html | undefined
}

/** A form that is submitted by POST with a CSRF token. */
export function postForm(target: FormTarget, fields: HtmlValue): Html {
  const { action = ownPath, csrf = ownToken, hidden, attributes } = target
  const values = Object.entries({ csrf, ...hidden })
  return html`<form method="post" action="${action}"${attributes}>
${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}${fields}
</form>`
}

/** The CSRF token of the session for which a page is rendered. Rendering it outside an area throws an Error. */
export const ownToken: Html = localized((reader) => contextOf(reader).csrf)
const ownPath = localized((reader) => contextOf(reader).path)

function contextOf({ form }: Reader) {
  if (form === undefined) throw new Error('a form outside an area needs an action and a CSRF token')
  return form
}

/** The look of a button: `second` is less prominent, and `danger` warns. */
type ButtonKind = 'second' | 'danger'

interface ButtonOptions {
  readonly kind?: ButtonKind | undefined
  readonly cancelHref?: string | undefined
}

/** A row with the button that submits a form and, if `cancelHref` is set, a link to cancel. */
export function submitButton(id: string, label: HtmlValue, options: ButtonOptions = {}): Html {
  const { kind, cancelHref } = options
  return html`<div class="actions">
<button id="${id}" type="submit"${kind && html` class="${kind}"`}>${label}</button>
${cancelHref !== undefined && html`<a id="cancel" class="button second" href="${cancelHref}">${text('word.cancel')}</a>`}
</div>`
}

/** A form without visible fields. */
export function buttonForm(
  target: FormTarget,
  id: string,
  label: HtmlValue,
  kind?: ButtonKind,
): Html {
  return postForm(target, submitButton(id, label, { kind }))
}

/** Hides the form of a destructive action behind its label, so that the action takes two steps. */
export function askFirst(label: HtmlValue, form: Html): Html {
  return html`<details><summary>${label}</summary>${form}</details>`
}

/** A form that removes the item with the given name. */
export function removal(name: string, target: FormTarget): Html {
  const label = text('word.remove')
  return askFirst(
    html`${label} <span class="hidden"><bdi>${name}</bdi></span>`,
    postForm(
      target,
      html`<div class="actions"><button type="submit" class="danger"><span>${label} <bdi>${name}</bdi></span></button></div>`,
    ),
  )
}

/** The form that buttons with `form="refusal"` submit. It is separate, so that refusing submits no password. */
export function refusalForm({ deny, csrf }: Readonly<Record<'deny' | 'csrf', string>>): Html {
  return html`<form id="refusal" method="post" action="${deny}"><input type="hidden" name="csrf" value="${csrf}"></form>`
}

/** The problem with the last input, for the top of the page. Fields refer to it by `id`. */
export function problemAlert(id: string, problem: HtmlValue): Html | undefined {
  if (problem === undefined) return undefined
  return html`<p class="notice problem" id="${id}" role="alert" tabindex="-1">${problem}</p>`
}

/** A field with its label. The ids of its hint and problem begin with its id. */
export interface Field {
  readonly id: string
  readonly name?: string
  readonly label: HtmlValue
  readonly hint?: HtmlValue
  /** The problem with the input, as a sentence or a list of sentences. */
  readonly problem?: HtmlValue
  /** The id of another element that describes the field. */
  readonly describedBy?: string | undefined
  /** The other attributes of the element, such as ` type="text"`. */
  readonly attributes: Html
}

export function inputField(field: Field): Html {
  return html`${fieldHead(field)}
<input ${fieldAttributes(field)}>`
}

/** A field for a password. If `showPasswordScript` runs, a button shows the password. */
export function passwordField(field: Field): Html {
  const attributes = html` type="password" maxlength="1024"${field.attributes}`
  return html`${fieldHead(field)}
<span class="password"><input ${fieldAttributes({ ...field, attributes })}><button type="button" class="quiet" data-other="${text('password.hide')}" hidden>${text('password.show', { h: (rest) => html`<span class="hidden">${rest}</span>` })}</button></span>`
}

export function textField(field: Field, text: string): Html {
  return html`${fieldHead(field)}
<textarea ${fieldAttributes(field)}>
${text}</textarea>`
}

function fieldHead({ id, label, hint, problem }: Field): Html {
  return html`<label for="${id}">${label}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${fieldProblem(id, problem)}`
}

function fieldAttributes({ id, name = id, hint, problem, describedBy, attributes }: Field): Html {
  const described = [describedBy, hint && `${id}-hint`, problem && `${id}-problem`]
    .filter(Boolean)
    .join(' ')
  return html`id="${id}" name="${name}"${attributes}${problem && html` aria-invalid="true"`}${described && html` aria-describedby="${described}"`}`
}

/** The problem with a field or fieldset, shown above it. */
export function fieldProblem(id: string, problem: Field['problem']): Html | undefined {
  if (!problem) return undefined
  if (!Array.isArray(problem))
    return html`<p class="field-problem" id="${id}-problem">${problem}</p>`
  return html`<ul class="field-problem" id="${id}-problem">
${problem.map((sentence: HtmlValue) => html`<li>${sentence}</li>\n`)}</ul>`
}

/** The field for an e-mail address. It is a text field, because browsers reject some valid e-mail addresses. */
export function loginField(login: string | undefined, more: Html, autocomplete = 'username'): Html {
  return html`<label for="login">${text('form.email')}</label>
<input id="login" name="login" type="text" inputmode="email" autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false" maxlength="320" required value="${login}"${more}>`
}

interface Choice {
  readonly type: 'radio' | 'checkbox'
  readonly name: string
  readonly value: string
  readonly checked?: boolean
}

/** A checkbox or radio button with its label. One radio button of a group must be selected. */
export function choice({ type, name, value, checked }: Choice, words: Html): Html {
  return html`<label class="choice">
<input type="${type}" name="${name}" value="${value}"${type === 'radio' && html` required`}${checked && html` checked`}>
<span>${words}</span>
</label>
`
}

interface FilterOptions {
  readonly button?: HtmlValue
  readonly isNarrowed: boolean
  /** The path of the list. By default, the path of the page. */
  readonly action?: string
}

/** A form that filters a list by `fields`. If a filter is set, a link leads to the unfiltered list. */
export function filterForm(fields: HtmlValue, options: FilterOptions): Html {
  const { button = text('word.search'), isNarrowed, action = ownPath } = options
  return html`<form class="filter" method="get" action="${action}">
${fields}<div class="actions">
<button type="submit" class="second">${button}</button>
${isNarrowed && html`<a id="show-all" href="${action}">${text('word.showAll')}</a>`}
</div>
</form>`
}

/** The search field of a form that filters a list. */
export function searchField(label: HtmlValue, search: string): Html {
  return html`<div><label for="search">${label}</label>
<input id="search" name="search" type="search" maxlength="300" value="${search}" autocomplete="off"></div>
`
}
