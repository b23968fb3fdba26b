import { switchOnForm } from './admin-beta.ts'
import { type AreaView, areaPage } from './area.ts'
import { type ConnectStepsView, connectSteps, snippet } from './connect-steps.ts'
import { choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface AssistantsPage {
  readonly area: AreaView
  readonly siteName: string
  /** The URL of the form that switches MCP connections on; undefined if they are on. */
  readonly switchOnAction: string | undefined
  readonly assistants: readonly AssistantView[]
  /** The URL to which the chosen assistant is posted. */
  readonly action: string
  /** The URL of the page with the steps for members. */
  readonly memberAddress: string
  readonly ownHref: string
  readonly problem: string | undefined
  readonly done: string | undefined
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
  readonly problem: string | undefined
}

interface AdmittedView {
  readonly name: string
  readonly href: string
  readonly disabled: boolean
}

/** Lists the assistants, with a button to add each one for the members of a site. */
export function assistantsPage(page: AssistantsPage): Page {
  const { area, siteName, switchOnAction, assistants } = page
  return areaPage({
    ...page,
    title: 'Connect assistants',
    id: 'assistants-page',
    body: html`${problemAlert('assistants-problem', page.problem)}
<p>One press lets the members of <bdi>${siteName}</bdi> connect an assistant: it makes an OAuth application with the callbacks
of that assistant. Each member then decides alone, and the assistant reaches only the data of that person at your site.</p>
${switchOnAction === undefined ? memberPage(page) : switchOn(switchOnAction, area)}
<p>You want to administer the site with your own assistant? <a id="own" href="${page.ownHref}">Connect your own</a>.</p>
<ul class="cards compact">
${assistants.map((assistant) => card(assistant, page))}</ul>`,
  })
}

function memberPage({ memberAddress }: AssistantsPage): Html {
  return html`<p>Give your members this address. It shows the steps for each assistant that you added:</p>
${snippet(memberAddress)}
<p><a id="member-page" href="${memberAddress}">See what members see</a></p>`
}

function switchOn(action: string, { csrf }: AreaView): Html {
  return html`<div class="notice warning" id="feature-off"><p><strong>MCP connections is off.</strong> Switch it on before you add an
assistant. It is a beta feature: it lets applications act for your members, if each of them allows it.</p></div>
${switchOnForm({ action, csrf })}`
}

function card(assistant: AssistantView, { area, action, switchOnAction }: AssistantsPage): Html {
  const { id, name, where, application } = assistant
  return html`<li class="card" id="${id}">
<h2>${name}</h2>
<p class="muted">${where}</p>
${application && admitted(application)}
${switchOnAction === undefined && (application === undefined || assistant.ownCallback !== undefined) && form(assistant, { area, action })}
</li>
`
}

function admitted({ name, href, disabled }: AdmittedView): Html {
  return html`<p>${disabled ? html`<span class="tag">disabled</span> Members cannot connect it at the moment.` : 'Members can connect it.'}
Its application: <a href="${href}"><bdi>${name}</bdi></a></p>`
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
    ...page,
    title: 'Connect your own assistant',
    id: 'own-assistants-page',
    body: html`<p>With it you administer <bdi>${page.siteName}</bdi> in words: it reads, and changes when you allow it, what you may yourself. It
needs no <code>client_id</code>: it registers itself, or a document of its maker describes it
(<a id="reviews" href="${page.reviewsHref}">Self-declared clients</a>). At the sign-in you choose the site, read what it asks for, and agree.
Before it publishes or removes anything, it asks you again.</p>
<form method="get" action="${page.action}">
<fieldset class="choices"><legend>It may read everything. What may it also change?</legend>
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
