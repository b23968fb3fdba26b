import type { AreaPage } from './area.ts'
import { choice, postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { text, textIfAny } from './text.ts'

export interface NotificationsPage {
  readonly sites: readonly {
    readonly name: HtmlValue
    readonly subscriptions: readonly Subscription[]
  }[]
}

interface Subscription {
  readonly id: string
  readonly topic: string
  readonly channel: string
  readonly enabledAt: number | null
}

/** Shows which notifications from each site a person receives, as checkboxes. */
export function notificationsPage(page: NotificationsPage): AreaPage {
  const sites = page.sites.filter(({ subscriptions }) => subscriptions.length > 0)
  const fields = sites.map(
    ({ name, subscriptions }) => html`<fieldset><legend><bdi>${name}</bdi></legend>
${subscriptions.map(subscriptionBox)}</fieldset>\n`,
  )
  return {
    title: text('account.notifications'),
    id: 'notifications-page',
    body:
      sites.length === 0
        ? html`<p class="empty">${text('notifications.none')}</p>`
        : html`<p>${text('notifications.intro')}</p>
${postForm({}, [...fields, submitButton('save', text('word.save'))])}`,
  }
}

function subscriptionBox({ id, topic, channel, enabledAt }: Subscription): Html {
  const checked = enabledAt !== null
  return choice(
    { type: 'checkbox', name: 'subscription', value: id, checked },
    html`<bdi>${textIfAny(`notifications.topics.${topic}`) ?? topic}</bdi> <span class="muted">${textIfAny(`notifications.channels.${channel}`)}</span>`,
  )
}
