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

/** The colors of a site in a name that says them. */
export type ColorSheet = Stylesheet

/** What a site chose, and what follows from it; nothing is the service's own. */
export interface SitePalette {
  readonly accent: string | undefined
  readonly accentOver: string | undefined
  readonly background: string | undefined
  readonly onBackground: string | undefined
}

/** The colors of the light scheme, as they stand first in the stylesheet of all pages. */
const [lightColors = ''] = /:root \{[^}]*\}/.exec(stylesheet.content.toString()) ?? []

/**
 * What comes after the stylesheet of a page that looks like a site. Its colors were chosen for light
 * cards, so that such a page is light for everybody.
 */
export function colorSheet({
  accent,
  accentOver,
  background,
  onBackground,
}: SitePalette): ColorSheet {
  const rules = [
    lightColors.replace('light dark', 'light'),
    accent && `:root { --accent: ${accent}; --accent-over: ${accentOver}; }`,
    background && onBackground && groundRules(background, onBackground),
  ]
  const content = Buffer.from(rules.filter(Boolean).join('\n'))
  const digits = (color: string | undefined) => color?.slice(1) ?? 'own'
  return {
    file: `colors-${digits(accent)}-${digits(background)}-${digestOf(content)}.css`,
    content,
  }
}

/** Everything that stands on the ground of a page, and on no card. */
function groundRules(background: string, words: string): string {
  return `body { background: ${background}; color: ${words}; }
main { color: var(--text); }
.brand svg, nav.area a, nav.area a:hover, nav.area [aria-current], nav.area .muted { color: ${words}; }
nav.area [aria-current] { text-decoration-color: ${words}; }
nav.area :focus-visible { outline-color: ${words}; }
nav.area .second { background: var(--card); color: var(--text); }
.brand img { padding: 0; background: none; }`
}

function sheetOf(name: string, files: readonly string[]): Stylesheet {
  const content = Buffer.concat(files.map((file) => readFileSync(join(import.meta.dirname, file))))
  return { file: `${name}-${digestOf(content)}.css`, content }
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 10)
}
