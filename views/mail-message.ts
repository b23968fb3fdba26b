import { type Html, type HtmlValue, html, plain, type Reader } from './html.ts'
import { languageAttributes, text } from './text.ts'

/** A paragraph, or a link with its label. */
export type MailBlock = Html | { readonly label: Html; readonly href: string }

/** An e-mail message, which is sent both as plain text and as HTML. */
export interface MailMessage {
  readonly subject: Html
  readonly greeting: Html
  readonly blocks: readonly MailBlock[]
  /** The note below the text, which says who sent the message and why. */
  readonly footer: Html
  readonly look: MailLook
}

export interface MailLook {
  /** The name of the sender, for the heading of the message. */
  readonly name: string
  /** The absolute URL of the logo. */
  readonly logoHref: string | undefined
  readonly accent: string
  /** The color of text on the accent color. */
  readonly onAccent: string
}

/** Renders the plain text of a message. */
export function mailText({ greeting, blocks, footer }: MailMessage, reader: Reader): string {
  const paragraphs = blocks.map(
    (block): HtmlValue => ('href' in block ? [block.label, `:\n${block.href}`] : block),
  )
  const parts = [greeting, ...paragraphs, ['-- \n', footer]]
  return `${parts.map((part) => plain(part, reader)).join('\n\n')}\n`
}

/** Renders the HTML of a message. Styles are inline, because many mail programs ignore stylesheets. */
export function mailHtml({ subject, greeting, blocks, footer, look }: MailMessage): Html {
  const { name, logoHref, accent, onAccent } = look
  return html`<!doctype html>
<html${languageAttributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>${subject}</title>
</head>
<body style="margin:0;padding:16px;background:#f3f5f4;color:#1b2429;font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere">
<main style="max-width:528px;margin:0 auto;padding:24px;background:#fff;border-top:4px solid ${accent};border-radius:8px">
<h1 style="margin:0 0 16px;font-size:20px">${
    logoHref === undefined
      ? html`<bdi>${name}</bdi>`
      : html`<img src="${logoHref}" alt="${name}" height="40">`
  }</h1>
<p>${greeting}</p>
${blocks.map((block) => blockHtml(block, `background:${accent};color:${onAccent}`))}
<p style="margin-top:24px;color:#55616a;font-size:14px">${footer}</p>
</main>
</body>
</html>
`
}

function blockHtml(block: MailBlock, colors: string): Html {
  if (!('href' in block)) return html`<p>${block}</p>\n`
  const { label, href } = block
  return html`<p><a href="${href}" style="display:inline-block;padding:10px 16px;border-radius:6px;text-decoration:none;${colors}">${label}</a></p>
<p style="color:#55616a;font-size:14px">${text('mail.buttonFails')}<br>${href}</p>\n`
}
