import { linkList } from './api-pages.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { inCode, text } from './text.ts'

interface MailFolderPage {
  readonly folder: string
  readonly messages: readonly Readonly<Record<'subject' | 'to' | 'date' | 'href', string>>[]
}

/** Lists the messages that the demo stored instead of sending them, latest first. */
export function mailFolderPage({ folder, messages }: MailFolderPage): Page {
  const links = messages.map(({ subject, to, date, href }) => ({
    ...{ href, label: subject, what: text('mailFolder.to', { to, date }) },
  }))
  return {
    title: text('mailFolder.title'),
    id: 'mail-page',
    body: html`<p>${text('mailFolder.intro', { folder: inCode(folder) })}</p>
${links.length === 0 ? html`<p>${text('mailFolder.none')}</p>` : linkList(links)}`,
  }
}
