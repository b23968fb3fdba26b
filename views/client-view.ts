import { type Html, html } from './html.ts'

/** What a page says about the application that asks. */
export interface ClientView {
  readonly name: string
  /** How the application came to be known, which decides how much of it was checked. */
  readonly kind:
    | 'vendor'
    | 'vendor-connection'
    | 'vendor-on-device'
    | 'operator-created'
    | 'self-declared'
    | 'reviewed'
    | 'loopback'
    | 'own'
  /** Where the person goes back to: `app.example.com`, or `this computer (127.0.0.1)`. */
  readonly host: string
  /** The site whose team created the application, for the kind `operator-created`. */
  readonly siteName?: string | undefined
  /** Where an application describes itself, for the kinds `self-declared` and `reviewed`. */
  readonly describedAt?: string | undefined
}

/** The kind of an application in one plain sentence. */
export function kindSentence({ kind, siteName, describedAt }: ClientView): string {
  switch (kind) {
    case 'vendor':
      return 'A partner of this platform. We checked its name and its address.'
    case 'vendor-connection':
      return 'A connection that a person made at a partner of this platform.'
    case 'vendor-on-device':
      return 'A program on your own computer that uses the name of a partner of this platform.'
    case 'operator-created':
      return `An application set up by the team of ${siteName ?? 'a site'}.`
    case 'self-declared':
      return 'An application that we have not checked.'
    case 'reviewed':
      return `An application of ${describedAt ?? 'another service'}, reviewed by an operator.`
    case 'loopback':
      return 'A program on your own computer.'
    case 'own':
      return 'The pages of this service itself.'
  }
}

/**
 * An untrusted name. It is isolated, because letters that are written from right to
 * left could otherwise turn the words around it, and with them the meaning of the sentence.
 */
export function foreignName(name: string): Html {
  return html`<strong><bdi>${name}</bdi></strong>`
}
