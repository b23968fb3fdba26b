import { switchOnForm } from './admin-beta.ts'
import { type AreaView, areaPage } from './area.ts'
import { type ConnectStepsView, connectSteps, snippet } from './connect-steps.ts'
import { choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { copyScript } from './script.ts'

export interface AssistantsPage {
  readonly area: AreaView
  readonly siteName: string
  /** The URL of the form that switches MCP connections on; undefined if they are on. */
  readonly switchOnAction: string | undefined
  readonly assistants: readonly AssistantView[]
  /** The URL to which the form submits the chosen assistant. */
  readonly action: string
  /** The URL of the page with the steps for members. */
  readonly memberAddress: string
  readonly ownHref: string
  readonly problem: HtmlValue
  readonly done: HtmlValue
}

export interface AssistantView {
  readonly id: string
  readonly name: string
  readonly where: string
  readonly application: AdmittedView | undefined
  /** How the operator finds the callback of their connection; undefined if all connections share one callback. */
  readonly ownCallback: string | undefined
  /** The callback as entered, if it was rejected; otherwise empty. */
  readonly typed: string
  readonly problem: HtmlValue
}

interface AdmittedView {
  readonly name: string
  readonly href: string
  readonly disabled: boolean
}

/** Lists the assistants, with a button to add each one for the members of a site. */
export function assistantsPage(page: AssistantsPage): Page {
  const { area, siteName, switchOnAction, assistants } = page
  const added = assistants.filter(({ application }) => application !== undefined)
  const others = assistants.filter((assistant) => !added.includes(assistant))
  return areaPage({
    language: 'en',
    ...page,
    title: 'Connect assistants',
    id: 'assistants-page',
    scripts: [copyScript],
    body: html`${problemAlert('assistants-problem', page.problem)}
<p>Members of <bdi>${siteName}</bdi> can connect the assistants that you add. An assistant sees only the data of its member.</p>
${switchOnAction !== undefined && switchOn(switchOnAction, area)}
${added.length > 0 && addedList(added, page)}
${others.length > 0 && rows(added.length > 0 ? 'More assistants' : 'Add the first one', others, page)}
<p>To administer the school with an assistant, <a id="own" href="${page.ownHref}">connect your own</a>.</p>`,
  })
}

/** The added assistants, each with its state, and the address for members. */
function addedList(added: readonly AssistantView[], page: AssistantsPage): Html {
  const isOn = page.switchOnAction === undefined
  return html`${rows('Added', added, page)}
${
  isOn &&
  html`<p>Give your members this address, which shows the steps:</p>
${snippet(page.memberAddress)}
<p><a id="member-page" href="${page.memberAddress}">See what members see</a></p>`
}`
}

function switchOn(action: string, { csrf }: AreaView): Html {
  return html`<div class="notice warning" id="feature-off"><p><strong>MCP connections is off.</strong> Switch it on first. Apps can then
act for members who allow it.</p></div>
${switchOnForm({ action, csrf })}`
}

function rows(heading: string, assistants: readonly AssistantView[], page: AssistantsPage): Html {
  return html`<h2>${heading}</h2>
<ul class="rows compact">
${assistants.map((assistant) => row(assistant, page))}</ul>`
}

function row(assistant: AssistantView, page: AssistantsPage): Html {
  const { id, name, where, application, ownCallback } = assistant
  const isOn = page.switchOnAction === undefined
  const label = application ? 'Add another callback' : `Set up ${name}`
  return html`<li id="${id}">
<span><strong>${application ? html`<a href="${application.href}"><bdi>${application.name}</bdi></a>` : name}</strong>
<span class="muted">${where}</span>
${application?.disabled === true && html`<span class="muted">Members cannot connect it at the moment.</span>`}</span>
${application && state(application, isOn)}
${isOn && ownCallback === undefined && !application && form(assistant, page)}
${
  isOn &&
  ownCallback !== undefined &&
  html`<details${assistant.problem !== undefined && html` open`}><summary>${label}</summary>
${form(assistant, page)}</details>`
}
</li>
`
}

function state({ disabled }: AdmittedView, isOn: boolean): Html {
  if (disabled) return html`<span class="tag warning">Disabled</span>`
  return isOn ? html`<span class="tag good">On</span>` : html`<span class="tag">Off</span>`
}

function form(
  assistant: AssistantView,
  { area, action }: Pick<AssistantsPage, 'area' | 'action'>,
): Html {
  const { id, name, application, ownCallback } = assistant
  const button = application
    ? submitButton(`add-${id}`, 'Add this callback', { kind: 'second' })
    : submitButton(`add-${id}`, `Add ${name}`, { kind: 'second' })
  return postForm({ action, csrf: area.csrf, hidden: { assistant: id } }, [
    ownCallback !== undefined && callbackField(assistant, ownCallback),
    button,
  ])
}

function callbackField({ id, application, typed, problem }: AssistantView, hint: string): Html {
  return inputField({
    id: `${id}-callback`,
    name: 'callback',
    label: application === undefined ? 'Callback URL' : 'Another Callback URL',
    hint,
    problem,
    attributes: html` type="url" maxlength="500" required autocomplete="off" spellcheck="false" value="${typed}"`,
  })
}

export interface OwnAssistantsPage {
  readonly area: AreaView
  readonly siteName: string
  readonly address: string
  /** The URL of this page, to which the areas to change are submitted. */
  readonly action: string
  readonly areas: readonly { readonly name: string; readonly checked: boolean }[]
  readonly assistants: readonly ConnectStepsView[]
  readonly local: boolean
  readonly backHref: string
  /** The page for reviewing clients with metadata documents. */
  readonly reviewsHref: string
}

/** Shows an operator how to connect their own assistant, to administer the site. */
export function ownAssistantsPage(page: OwnAssistantsPage): Page {
  return areaPage({
    language: 'en',
    ...page,
    title: 'Connect your own assistant',
    id: 'own-assistants-page',
    scripts: [copyScript],
    body: html`<p>It can do at <bdi>${page.siteName}</bdi> what you can do, if you allow it when you sign in. Before it publishes or removes
anything, it asks you again. It needs no <code>client_id</code>; some need a review under
<a id="reviews" href="${page.reviewsHref}">Self-declared clients</a>.</p>
<form method="get" action="${page.action}">
<fieldset><legend>It may read everything. What may it also change?</legend>
${page.areas.map(({ name, checked }) => choice({ type: 'checkbox', name: 'change', value: name, checked }, html`${name.replaceAll('_', ' ')}`))}</fieldset>
<div class="actions"><button id="show" type="submit" class="second">Show the address</button></div>
</form>
<p>Connect it to this address:</p>
${snippet(page.address)}
<div class="assistants">
${page.assistants.map((steps) => connectSteps(steps, { local: page.local }))}</div>
<p><a class="button second" href="${page.backHref}">Back to Connect assistants</a></p>`,
  })
}
