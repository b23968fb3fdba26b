import { switchOnForm } from './admin-beta.ts'
import type { AreaPage } from './area.ts'
import { avatar } from './avatar.ts'
import { type ConnectStepsView, connectSteps, snippet } from './connect-steps.ts'
import { choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { logoOf } from './icon.ts'
import { copyScript } from './script.ts'
import { areaText, type TextId, text } from './text.ts'

export interface AssistantsPage {
  /** The URL to which the form that switches MCP connections on is submitted; undefined if they are on. */
  readonly switchOnAction: string | undefined
  readonly assistants: readonly AssistantView[]
  /** The URL of the page that tells members how to connect an assistant. */
  readonly memberAddress: string
  readonly ownHref: string
  readonly problem: HtmlValue
}

export interface AssistantView {
  readonly id: string
  readonly name: string
  readonly where: Html
  readonly application: AdmittedView | undefined
  /** How the operator finds the callback of their connection; undefined if all connections share one callback. */
  readonly ownCallback: Html | undefined
  /** The callback as entered, if it was rejected; otherwise empty. */
  readonly typed: string
  readonly problem: HtmlValue
}

interface AdmittedView {
  readonly name: string
  readonly href: string
  readonly disabled: boolean
}

/** Lists the assistants, and lets an operator add them for the members of a site. */
export function assistantsPage(page: AssistantsPage): AreaPage {
  const { switchOnAction, assistants } = page
  const added = assistants.filter(({ application }) => application !== undefined)
  const others = assistants.filter((assistant) => !added.includes(assistant))
  return {
    title: text('adminNav.assistants'),
    id: 'assistants-page',
    scripts: [copyScript],
    body: html`${problemAlert('assistants-problem', page.problem)}
<p>${text('adminAssistants.intro')}</p>
${switchOnAction !== undefined && html`<div class="notice warning" id="feature-off"><p>${text('adminAssistants.off')}</p></div>\n${switchOnForm(switchOnAction)}`}
${added.length > 0 && addedList(added, page)}
${others.length > 0 && assistantList(added.length > 0 ? 'adminAssistants.more' : 'adminAssistants.first', others, page)}
<p>${text('adminAssistants.own', { a: (name) => html`<a id="own" href="${page.ownHref}">${name}</a>` })}</p>`,
  }
}

function addedList(added: readonly AssistantView[], page: AssistantsPage): Html {
  const isOn = page.switchOnAction === undefined
  return html`${assistantList('adminAssistants.added', added, page)}
${
  isOn &&
  html`<p>${text('adminAssistants.address')}</p>
${snippet(page.memberAddress)}
<p><a id="member-page" href="${page.memberAddress}">${text('adminHome.membersSee')}</a></p>`
}`
}

function assistantList(
  heading: TextId,
  assistants: readonly AssistantView[],
  page: AssistantsPage,
): Html {
  return html`<h2>${text(heading)}</h2>
<ul class="rows compact">
${assistants.map((assistant) => row(assistant, page))}</ul>`
}

function row(assistant: AssistantView, page: AssistantsPage): Html {
  const { id, name, where, application, ownCallback } = assistant
  const isOn = page.switchOnAction === undefined
  const label = application
    ? text('adminAssistants.anotherCallback')
    : text('adminAssistants.setUp', { name: html`<bdi>${name}</bdi>` })
  return html`<li id="${id}">
${avatar(name, logoOf(id))}<span><strong>${application ? html`<a href="${application.href}"><bdi>${application.name}</bdi></a>` : html`<bdi>${name}</bdi>`}</strong>
<span class="muted">${where}</span>
${application?.disabled === true && html`<span class="muted">${text('adminAssistants.notNow')}</span>`}</span>
${application && state(application, isOn)}
${isOn && ownCallback === undefined && !application && addForm(assistant)}
${
  isOn &&
  ownCallback !== undefined &&
  html`<details${assistant.problem !== undefined && html` open`}><summary>${label}</summary>
${addForm(assistant)}</details>`
}
</li>
`
}

function state({ disabled }: AdmittedView, isOn: boolean): Html {
  if (disabled) return html`<span class="tag warning">${text('adminAssistants.disabled')}</span>`
  return isOn
    ? html`<span class="tag good">${text('adminAssistants.isOn')}</span>`
    : html`<span class="tag">${text('adminAssistants.isOff')}</span>`
}

function addForm(assistant: AssistantView): Html {
  const { id, name, application, ownCallback } = assistant
  const label = application
    ? text('adminAssistants.addCallback')
    : text('adminAssistants.add', { name: html`<bdi>${name}</bdi>` })
  return postForm({ hidden: { assistant: id } }, [
    ownCallback !== undefined && callbackField(assistant, ownCallback),
    submitButton(`add-${id}`, html`<span>${label}</span>`, { kind: 'second' }),
  ])
}

function callbackField({ id, application, typed, problem }: AssistantView, hint: Html): Html {
  return inputField({
    id: `${id}-callback`,
    name: 'callback',
    label: text(application ? 'adminAssistants.otherCallback' : 'adminAssistants.callback'),
    hint,
    problem,
    attributes: html` type="url" maxlength="500" required autocomplete="off" spellcheck="false" value="${typed}"`,
  })
}

export interface OwnAssistantsPage {
  readonly address: string
  /** The URL of this page. The form submits the chosen areas to it. */
  readonly action: string
  readonly areas: readonly { readonly name: string; readonly checked: boolean }[]
  readonly assistants: readonly ConnectStepsView[]
  readonly local: boolean
  readonly backHref: string
  /** The page for reviewing clients with metadata documents. */
  readonly reviewsHref: string
}

/** Shows an operator how to connect their own assistant, to administer the site. */
export function ownAssistantsPage(page: OwnAssistantsPage): AreaPage {
  return {
    title: text('adminAssistants.ownTitle'),
    id: 'own-assistants-page',
    back: { href: page.backHref, name: text('adminNav.assistants') },
    scripts: [copyScript],
    body: html`<p>${text('adminAssistants.ownIntro', {
      a: (name) => html`<a id="reviews" href="${page.reviewsHref}">${name}</a>`,
    })}</p>
<form method="get" action="${page.action}">
<fieldset><legend>${text('adminAssistants.areas')}</legend>
${page.areas.map(({ name, checked }) => choice({ type: 'checkbox', name: 'change', value: name, checked }, areaText(name)))}</fieldset>
<div class="actions"><button id="show" type="submit" class="second">${text('adminAssistants.show')}</button></div>
</form>
<p>${text('adminAssistants.connectTo')}</p>
${snippet(page.address)}
<div class="assistants">
${page.assistants.map((steps) => connectSteps(steps, { local: page.local }))}</div>`,
  }
}
