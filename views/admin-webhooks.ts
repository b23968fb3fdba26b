import type { AreaPage } from './area.ts'
import { askFirst, choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { table } from './table.ts'
import { inCode, inEnglish, inLink, type TextId, text, textIfAny, timeOf } from './text.ts'

export interface WebhooksPage {
  readonly endpoints: readonly (EndpointLine & { readonly href: string })[]
  readonly types: readonly string[]
  readonly typed?: Typed | undefined
  readonly problem: HtmlValue
}

/** The values that the person entered, or the stored values. */
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
export function webhooksPage(page: WebhooksPage): AreaPage {
  const { endpoints, types, typed, problem } = page
  return {
    title: text('adminNav.webhooks'),
    id: 'webhooks-page',
    body: html`<p>${text('adminWebhooks.intro')}</p>
${table(
  text('adminWebhooks.endpoints'),
  [
    {
      heading: 'URL',
      cell: ({ url, href }) => html`<a href="${href}"><code class="long">${url}</code></a>`,
    },
    { heading: text('applications.state'), cell: stateOf },
    { heading: text('adminWebhooks.created'), cell: ({ createdAt }) => timeOf(createdAt) },
  ],
  endpoints,
  { none: html`<p class="empty" id="no-webhooks">${text('adminWebhooks.none')}</p>` },
)}
<h2>${text('adminWebhooks.addTitle')}</h2>
${problemAlert('webhook-problem', problem)}
${postForm({}, html`${endpointFields(types, typed)}${submitButton('add', text('word.add'))}`)}`,
  }
}

function endpointFields(types: readonly string[], typed?: Typed): Html {
  const isThin = typed?.payload === 'thin'
  return html`${inputField({
    id: 'url',
    label: html`<bdi>URL</bdi>`,
    attributes: html` type="url" maxlength="500" autocomplete="off" required value="${typed?.url ?? ''}"`,
  })}
<fieldset><legend>${text('adminWebhooks.events')}</legend>
${types.map((name) => choice({ type: 'checkbox', name: 'types', value: name, checked: typed?.types.includes(name) ?? false }, inCode(name)))}</fieldset>
<details><summary>${text('adminWebhooks.meaning')}</summary>
<dl class="facts">${types.map((name) => html`<div><dt>${inCode(name)}</dt><dd>${textIfAny(`event.${name}`)}</dd></div>\n`)}</dl></details>
<fieldset><legend>${text('adminWebhooks.content')}</legend>
${choice({ type: 'radio', name: 'payload', value: 'full', checked: !isThin }, text('adminWebhooks.full'))}${choice({ type: 'radio', name: 'payload', value: 'thin', checked: isThin }, text('adminWebhooks.thin'))}</fieldset>
`
}

const stateOf = ({ disabledAt }: Pick<EndpointLine, 'disabledAt'>) =>
  disabledAt === null
    ? text('adminWebhooks.enabled')
    : text('adminWebhooks.disabledOn', { time: timeOf(disabledAt) })

export interface WebhookPage {
  readonly listHref: string
  readonly types: readonly string[]
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
  readonly problem: HtmlValue
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

/** Shows an endpoint, its keys and log, and forms to change, test, enable, disable or delete it, or replay events. */
export function webhookPage(page: WebhookPage): AreaPage {
  const { listHref, endpoint, types, typed, deliveries, nowMs, problem } = page
  const isOn = endpoint.disabledAt === null
  return {
    title: text('adminWebhooks.title'),
    id: 'webhook-page',
    back: { href: listHref, name: text('adminNav.webhooks') },
    body: html`${problemAlert('webhook-problem', problem)}
<p><code>${endpoint.url}</code></p>
<p>${stateOf(endpoint)}${endpoint.disabledReason !== null && html` (${inEnglish(endpoint.disabledReason)})`}</p>
<details ${typed !== undefined && html`open`}><summary>${text('adminWebhooks.change')}</summary>
${actionForm('save', 'word.save', 'second', endpointFields(types, typed ?? endpoint))}</details>
<h2>${text('adminWebhooks.keys')}</h2>
<p>${text('adminWebhooks.keysIntro', { a: inLink('https://www.standardwebhooks.com/') })}</p>
<details><summary>${text('adminWebhooks.showSecret')}</summary><p><code id="secret">${endpoint.secret}</code></p></details>
<p>${text('adminWebhooks.publicKey', { key: html`<code id="public-key">${endpoint.publicKey}</code>` })}</p>
${endpoint.previousUntil !== null && endpoint.previousUntil > nowMs && html`<p class="notice" id="rotating">${text('adminWebhooks.rotating', { time: timeOf(endpoint.previousUntil) })}</p>`}
${actionForm('rotate', 'adminWebhooks.rotate', 'second')}
${isOn ? sending(endpoint.types) : enabling()}
<h2>${text('adminWebhooks.deliveries')}</h2>
${table(
  text('adminWebhooks.deliveries'),
  [
    { heading: text('adminWebhooks.event'), cell: ({ type }) => html`<code>${type}</code>` },
    { heading: text('adminWebhooks.time'), cell: ({ attemptedAt }) => timeOf(attemptedAt) },
    {
      heading: text('adminWebhooks.result'),
      cell: ({ status, error }) =>
        error === null
          ? text('adminWebhooks.accepted', { status })
          : text('adminWebhooks.failed', {
              error: html`<span class="long">${inEnglish(error)}</span>`,
            }),
    },
    {
      heading: text('adminWebhooks.duration'),
      cell: ({ durationMs }) => html`<bdi>${durationMs} ms</bdi>`,
      isNumber: true,
    },
    { heading: text('adminWebhooks.content'), cell: deliveryContent },
  ],
  deliveries,
  { none: html`<p id="no-deliveries">${text('adminWebhooks.nothingSent')}</p>` },
)}
<h2>${text('secrets.stop')}</h2>
${isOn && actionForm('disable', 'applications.disable', 'second')}
${askFirst(text('adminWebhooks.delete'), html`<p>${text('adminWebhooks.removal')}</p>${actionForm('delete', 'applications.delete', 'danger')}`)}`,
  }
}

function actionForm(act: string, label: TextId, kind?: 'second' | 'danger', fields?: Html): Html {
  return postForm({ hidden: { act } }, html`${fields}${submitButton(act, text(label), { kind })}`)
}

function sending(types: readonly string[]): Html {
  return html`<h2>${text('adminWebhooks.testing')}</h2>
${actionForm(
  'test',
  'adminWebhooks.test',
  undefined,
  html`<label for="type">${text('adminWebhooks.event')}</label>
<select id="type" name="type">${types.map((type) => html`<option>${type}</option>`)}</select>`,
)}
<details><summary>${text('adminWebhooks.replay')}</summary>
${actionForm('replay', 'adminWebhooks.replay', 'second', inputField({ id: 'since', label: text('adminWebhooks.since'), hint: text('adminWebhooks.sinceHint'), attributes: html` type="text" maxlength="30" autocomplete="off" required` }))}
${actionForm('replay-one', 'adminWebhooks.replayOne', 'second', inputField({ id: 'eventId', label: text('adminWebhooks.eventId'), hint: text('adminWebhooks.eventIdHint'), attributes: html` type="text" maxlength="60" autocomplete="off" required` }))}</details>`
}

function enabling(): Html {
  return html`<h2>${text('secrets.enable')}</h2>
<p>${text('adminWebhooks.missed')}</p>
${actionForm('resume', 'adminWebhooks.resume')}
${actionForm('skip', 'adminWebhooks.skip', 'second')}`
}

function deliveryContent({ eventId, request, response }: DeliveryView): Html {
  return html`<details><summary>${text('adminWebhooks.show')}</summary>
<p>${text('adminWebhooks.eventId')} <code>${eventId}</code></p>
<p>${text('adminWebhooks.request')}</p><pre>${request ? inCode(request) : text('adminWebhooks.notStored')}</pre>
<p>${text('adminWebhooks.response')}</p><pre>${response ? inCode(response) : text('adminWebhooks.noResponse')}</pre></details>`
}
