import { html } from './html.ts'
import type { Page } from './layout.ts'
import { inCode, text } from './text.ts'

interface MailFolderPage {
  readonly folder: string
  readonly messages: readonly Readonly<Record<'subject' | 'to' | 'date' | 'href', string>>[]
}

/** The messages that the demo would have sent, the latest first. */
export function mailFolderPage({ folder, messages }: MailFolderPage): Page {
  return {
    title: text('mailFolder.title'),
    id: 'mail-page',
    body: html`<p>${text('mailFolder.intro', { folder: inCode(folder) })}</p>
${
  messages.length === 0
    ? html`<p>${text('mailFolder.none')}</p>`
    : html`<ul class="links">
${messages.map(
  ({ subject, to, date, href }) => html`<li><a href="${href}">${subject}</a><br>
<span class="muted">${text('mailFolder.to', { to, date })}</span></li>\n`,
)}</ul>`
}`,
  }
}
