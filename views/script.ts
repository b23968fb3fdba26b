import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Html, html, trusted } from './html.ts'

/** A script from this folder. Without scripts, all pages work, but passkeys do not. */
export interface Script {
  /** The source expression that allows the script in a Content-Security-Policy. */
  readonly source: string
  readonly element: Html
}

export const passkeyScript: Script = scriptOf('passkey.js')
export const copyScript: Script = scriptOf('copy.js')
export const showPasswordScript: Script = scriptOf('show-password.js')

function scriptOf(file: string): Script {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  return {
    source: `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    element: html`<script>${trusted(text)}</script>\n`,
  }
}
