import { type AreaView, areaPage } from './area.ts'
import { choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { table } from './table.ts'
import { timeOf } from './text.ts'

export interface WebhooksPage {
  readonly area: AreaView
  readonly siteName: string
  readonly endpoints: readonly (EndpointLine & { readonly href: string })[]
  readonly types: readonly TypeLine[]
  readonly action: string
  readonly typed?: Typed | undefined
  readonly problem: string | undefined
  readonly done: HtmlValue
}

interface TypeLine {
  readonly name: string
  readonly text: string
}

/** The values that a person typed or that are stored. */
interface Typed {
  readonly url: string
  readonly types: readonly string[]
  readonly payload?: string | null | undefined
}

interface EndpointLine {
  readonly url: string
  readonly createdAt: number
  readonly disabledAt: number | null
}

/** Lists the webhook endpoints of a site, with the form that adds one. */
export function webhooksPage(page: WebhooksPage): Page {
  const { area, siteName, endpoints, types, action, typed, problem } = page
  return areaPage({
    language: 'en',
    ...page,
    title: 'Webhooks',
    id: 'webhooks-page',
    body: html`<p>A webhook sends the events of <bdi>${siteName}</bdi>, such as enrolments, to a server of yours as they happen.</p>
${table(
  'Webhook endpoints',
  [
    { heading: 'URL', cell: ({ url, href }) => html`<a href="${href}"><bdi>${url}</bdi></a>` },
    { heading: 'State', cell: stateOf },
    { heading: 'Created', cell: ({ createdAt }) => timeOf(createdAt) },
  ],
  endpoints,
  { none: html`<p id="no-webhooks">There is no webhook endpoint yet.</p>` },
)}
<h2>Add an endpoint</h2>
${problemAlert('webhook-problem', problem)}
${postForm(
  { action, csrf: area.csrf },
  html`${endpointFields(types, typed)}${submitButton('add', 'Add')}`,
)}`,
  })
}

function endpointFields(types: readonly TypeLine[], typed?: Typed): Html {
  const isThin = typed?.payload === 'thin'
  return html`${inputField({
    id: 'url',
    label: 'URL',
    hint: 'An https URL of a public server, such as https://hooks.school.example/gatehouse.',
    attributes: html` type="url" maxlength="500" autocomplete="off" required value="${typed?.url ?? ''}"`,
  })}
<fieldset><legend>Events</legend>
${types.map(({ name, text }) => choice({ type: 'checkbox', name: 'types', value: name, checked: typed?.types.includes(name) ?? false }, html`<code>${name}</code><br><span class="muted">${text}</span>`))}</fieldset>
<fieldset><legend>Content</legend>
${choice({ type: 'radio', name: 'payload', value: 'full', checked: !isThin }, html`Identifiers and changed values`)}${choice({ type: 'radio', name: 'payload', value: 'thin', checked: isThin }, html`Identifiers only`)}</fieldset>
`
}

const stateOf = ({ disabledAt }: Pick<EndpointLine, 'disabledAt'>) =>
  disabledAt === null ? 'Enabled' : html`Disabled ${timeOf(disabledAt)}`

export interface WebhookPage {
  readonly area: AreaView
  readonly listHref: string
  readonly action: string
  readonly types: readonly TypeLine[]
  readonly typed?: Typed | undefined
  readonly endpoint: EndpointLine &
    Typed & {
      readonly disabledReason: string | null
      readonly previousUntil: number | null
      readonly secret: string
      readonly publicKey: string
    }
  readonly deliveries: readonly DeliveryView[]
  readonly nowMs: number
  readonly problem: string | undefined
  readonly done: HtmlValue
}

interface DeliveryView {
  readonly id: string
  readonly eventId: string
  readonly type: string
  readonly attemptedAt: number
  readonly durationMs: number
  readonly status: number | null
  readonly error: string | null
  readonly request: string | undefined
  readonly response: string | null
}

/** Shows an endpoint: its keys, its log, and the forms that test, replay, disable and delete it. */
export function webhookPage(page: WebhookPage): Page {
  const { area, action, listHref, endpoint, types, typed, deliveries, nowMs, problem } = page
  const form = (act: string, label: string, kind?: 'second' | 'danger', fields?: Html) =>
    postForm(
      { action, csrf: area.csrf, hidden: { act } },
      html`${fields}${submitButton(act, label, { kind })}`,
    )
  const isOn = endpoint.disabledAt === null
  return areaPage({
    language: 'en',
    ...page,
    title: 'Webhook endpoint',
    id: 'webhook-page',
    back: { href: listHref, name: 'Webhooks' },
    body: html`${problemAlert('webhook-problem', problem)}
<p><code>${endpoint.url}</code></p>
<p>Types of events: ${endpoint.types.length}. ${isOn ? 'Enabled.' : html`Disabled on ${timeOf(endpoint.disabledAt ?? 0)}${endpoint.disabledReason !== null && html`: ${endpoint.disabledReason}`}.`}</p>
<details ${typed !== undefined && html`open`}><summary>Change the URL, events and content</summary>
${form('save', 'Save', 'second', endpointFields(types, typed ?? endpoint))}</details>
<h2>Keys</h2>
<p>Verify each message with a <a href="https://www.standardwebhooks.com/">Standard Webhooks</a> library and one of these keys.</p>
<details><summary>Show the secret (v1)</summary><p><code id="secret">${endpoint.secret}</code></p></details>
<p>Public key (v1a): <code id="public-key">${endpoint.publicKey}</code></p>
${endpoint.previousUntil !== null && endpoint.previousUntil > nowMs && html`<p class="notice" id="rotating">The previous secret also signs until ${timeOf(endpoint.previousUntil)}.</p>`}
${form('rotate', 'Create a new secret', 'second')}
${isOn ? sending(form, endpoint.types) : enabling(form)}
<h2>Deliveries</h2>
${table(
  'Deliveries',
  [
    { heading: 'Event', cell: ({ type }) => html`<code>${type}</code>` },
    { heading: 'Time', cell: ({ attemptedAt }) => timeOf(attemptedAt) },
    {
      heading: 'Result',
      cell: ({ status, error }) =>
        error === null ? html`Accepted (${status})` : html`<strong>Failed</strong>: ${error}`,
    },
    { heading: 'Duration', cell: ({ durationMs }) => `${durationMs} ms`, isNumber: true },
    { heading: 'Content', cell: contentOf },
  ],
  deliveries,
  { none: html`<p id="no-deliveries">Nothing was sent in the last 30 days.</p>` },
)}
<h2>Remove</h2>
<p>Deleting the endpoint also deletes its log and the events that wait for it.</p>
${form('delete', 'Delete the endpoint', 'danger')}`,
  })
}

type ActForm = (act: string, label: string, kind?: 'second' | 'danger', fields?: Html) => Html

function sending(form: ActForm, types: readonly string[]): Html {
  return html`<h2>Test and repeat</h2>
${form(
  'test',
  'Send a test event',
  undefined,
  html`<label for="type">Event</label>
<select id="type" name="type">${types.map((type) => html`<option>${type}</option>`)}</select>`,
)}
${form('replay', 'Send events again', 'second', inputField({ id: 'since', label: 'Since', hint: 'A time in UTC, such as 2026-11-28T09:00Z.', attributes: html` type="text" maxlength="30" autocomplete="off" required` }))}
${form('replay-one', 'Send one event again', 'second', inputField({ id: 'eventId', label: 'Event id', hint: 'The header webhook-id, under Content below.', attributes: html` type="text" maxlength="60" autocomplete="off" required` }))}
${form('disable', 'Disable', 'second')}`
}

function enabling(form: ActForm): Html {
  return html`<h2>Enable again</h2>
<p>Choose what happens to the events that the endpoint missed.</p>
${form('resume', 'Enable, and send missed events')}
${form('skip', 'Enable, and skip missed events', 'second')}`
}

function contentOf({ eventId, request, response }: DeliveryView): Html {
  return html`<details><summary>Show</summary>
<p>Event id <code>${eventId}</code></p>
<p>Request</p><pre>${request ?? '(no longer stored)'}</pre>
<p>Response</p><pre>${response ?? '(none)'}</pre></details>`
}
