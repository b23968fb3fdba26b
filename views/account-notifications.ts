import { type AreaView, areaPage } from './area.ts'
import { choice, postForm, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { notificationTexts as texts } from './texts/account.ts'

export interface NotificationsPage {
  readonly area: AreaView
  readonly action: string
  readonly sites: readonly {
    readonly name: string
    readonly subscriptions: readonly Subscription[]
  }[]
  readonly done: string | undefined
}

interface Subscription {
  readonly id: string
  readonly topic: string
  readonly channel: string
  readonly enabledAt: number | null
}

/** Shows which notifications of each site a person receives, as checkboxes. */
export function notificationsPage(page: NotificationsPage): Page {
  const { area, action } = page
  const sites = page.sites.filter(({ subscriptions }) => subscriptions.length > 0)
  const fields = sites.map(
    ({ name, subscriptions }) => html`<fieldset><legend><bdi>${name}</bdi></legend>
${subscriptions.map(box)}</fieldset>\n`,
  )
  return areaPage({
    ...page,
    title: texts.title,
    id: 'notifications-page',
    body:
      sites.length === 0
        ? html`<p class="empty">${texts.none}</p>`
        : html`<p>${texts.intro}</p>
${postForm({ action, csrf: area.csrf }, [...fields, submitButton('save', texts.save)])}`,
  })
}

function box({ id, topic, channel, enabledAt }: Subscription): Html {
  const checked = enabledAt !== null
  return choice(
    { type: 'checkbox', name: 'subscription', value: id, checked },
    html`<bdi>${texts.topics[topic] ?? topic}</bdi> <span class="muted">${texts.channels[channel]}</span>`,
  )
}
