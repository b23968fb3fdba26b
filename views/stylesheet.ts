import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Its name says its content, so that a browser may keep it for ever and still sees a new one at once. */
export interface Stylesheet {
  readonly file: string
  readonly content: Buffer
}

/** The stylesheet of the pages that strangers meet: small, because it is often the first visit. */
export const stylesheet: Stylesheet = sheetOf('style', ['style.css'])

/** The stylesheet of the pages for signed-in people, which have lists and forms. */
export const areaStylesheet: Stylesheet = sheetOf('area', ['style.css', 'area.css'])

function sheetOf(name: string, files: readonly string[]): Stylesheet {
  const content = Buffer.concat(files.map((file) => readFileSync(join(import.meta.dirname, file))))
  const digest = createHash('sha256').update(content).digest('hex')
  return { file: `${name}-${digest.slice(0, 10)}.css`, content }
}
