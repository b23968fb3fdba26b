import { html } from './html.ts'
import type { Page } from './layout.ts'

interface MailFolderPage {
  readonly folder: string
  readonly messages: readonly Readonly<Record<'subject' | 'to' | 'date' | 'href', string>>[]
}

/** The messages that the demo would have sent, the latest first. */
export function mailFolderPage({ folder, messages }: MailFolderPage): Page {
  return {
    title: 'Mail',
    language: 'en',
    id: 'mail-page',
    body: html`<h1>Mail</h1>
<p>This demo sends no mail. Its messages are files in <code>${folder}</code>.</p>
${
  messages.length === 0
    ? html`<p>There are no messages yet.</p>`
    : html`<ul class="links">
${messages.map(
  ({ subject, to, date, href }) => html`<li><a href="${href}">${subject}</a><br>
<span class="muted">to ${to}, ${date}</span></li>\n`,
)}</ul>`
}`,
  }
}
