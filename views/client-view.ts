import { type Html, html } from './html.ts'

/** The client that a page describes. */
export interface ClientView {
  readonly name: string
  /** The origin of the client, and whether it was verified. */
  readonly kind:
    | 'vendor'
    | 'vendor-connection'
    | 'vendor-on-device'
    | 'operator-created'
    | 'self-declared'
    | 'reviewed'
    | 'loopback'
    | 'own'
  /** Where the redirect URI leads: `app.example.com`, `this computer (127.0.0.1)` or `an app on this device (…)`. */
  readonly host: string
  /** The site that created the application, for the kind `operator-created`. */
  readonly siteName?: string | undefined
  /** The host of the metadata document, for the kinds `self-declared` and `reviewed`. */
  readonly describedAt?: string | undefined
}

/** Describes the kind of a client in one sentence. */
export function kindSentence({ kind, siteName, describedAt }: ClientView): string {
  const sentences: Readonly<Record<typeof kind, string>> = {
    vendor: 'A partner of this platform. We checked its name and its address.',
    'vendor-connection': 'A connection that a person made at a partner of this platform.',
    'vendor-on-device':
      'A program on your own computer that uses the name of a partner of this platform.',
    'operator-created': `An application set up by the team of ${siteName ?? 'a site'}.`,
    'self-declared': 'An application that we have not checked.',
    reviewed: `An application of ${describedAt ?? 'another service'}, reviewed by an operator.`,
    loopback: 'A program on your own computer.',
    own: 'The pages of this service itself.',
  }
  return sentences[kind]
}

/** An untrusted name, isolated with `<bdi>`. Otherwise, right-to-left letters could reorder the text around it. */
export function foreignName(name: string): Html {
  return html`<strong><bdi>${name}</bdi></strong>`
}
