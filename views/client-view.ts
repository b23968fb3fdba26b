import { type Html, type HtmlValue, html } from './html.ts'
import { text } from './text.ts'

export interface ClientView {
  readonly name: string
  /** The origin of the client, and whether it was verified. */
  readonly kind:
    | 'vendor'
    | 'vendor-connection'
    | 'vendor-on-device'
    | 'operator-created'
    | 'acts-for-owner'
    | 'self-declared'
    | 'reviewed'
    | 'loopback'
    | 'own'
  /** Where the redirect URI leads: `app.example.com`, `this computer (127.0.0.1)` or `an app on this device (…)`. */
  readonly host: HtmlValue
  /** The site whose operator created the application, for the kinds `operator-created` and `acts-for-owner`. */
  readonly siteName?: HtmlValue
  /** The host of the metadata document, for the kinds `self-declared` and `reviewed`. */
  readonly describedAt?: string | undefined
}

/** The kind of client by origin, before any review. Clients of other origins are self-declared. */
export const kindOfOrigin: ReadonlyMap<string, ClientView['kind']> = new Map([
  ['integration', 'vendor'],
  ['site', 'operator-created'],
  ['operator', 'acts-for-owner'],
  ['loopback', 'loopback'],
  ['first_party', 'own'],
])

/** The data that all pages between an authorization request and its response share. */
export interface PromptView {
  readonly action: string
  readonly csrf: string
  /** The URL to which the refusal is submitted. */
  readonly deny: string
  readonly client: ClientView
}

/** Describes the kind of a client in one sentence. */
export function kindSentence(view: Pick<ClientView, 'kind' | 'siteName' | 'describedAt'>): Html {
  const { kind, siteName, describedAt } = view
  return text(`client.${kind}`, { site: siteName ?? '', from: describedAt ?? '' })
}

/** An untrusted name, isolated with `<bdi>`. Otherwise, right-to-left letters could reorder the text around it. */
export function foreignName(name: HtmlValue): Html {
  return html`<strong><bdi>${name}</bdi></strong>`
}
