import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const content = Buffer.concat(
  ['style.css', 'area.css'].map((file) => readFileSync(join(import.meta.dirname, file))),
)
const digest = createHash('sha256').update(content).digest('hex')

/**
 * The one stylesheet of all pages. Its address names its content, so that a browser may keep it for
 * ever and still sees a new one at once.
 */
export const stylesheet: { readonly path: string; readonly content: Buffer } = {
  path: `/assets/style-${digest.slice(0, 10)}.css`,
  content,
}
