import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A stylesheet. Its file name contains a digest of its content, so browsers can cache it forever. */
export interface Stylesheet {
  readonly file: string
  readonly content: Buffer
}

/** The stylesheet of sign-in, consent and error pages. It is small, because it is often loaded on a first visit. */
export const stylesheet: Stylesheet = sheetOf('style', ['style.css'])

/** The stylesheet of pages with lists and forms, such as those for signed-in people. */
export const areaStylesheet: Stylesheet = sheetOf('area', ['style.css', 'area.css'])

/** The colors that a site chose, and the text colors that fit them. An undefined color is that of the service. */
type SitePalette = Readonly<
  Record<'accent' | 'accentOver' | 'background' | 'onBackground', string | undefined>
>

/** The rule with the colors of the light scheme: the first `:root` rule of the stylesheet. */
const [lightColors = ''] = /:root \{[^}]*\}/.exec(stylesheet.content.toString()) ?? []

/**
 * Creates the stylesheet with the colors of a site. It disables the dark scheme, because these colors were chosen for
 * light cards.
 */
export function colorSheet(palette: SitePalette): Stylesheet {
  const { accent, accentOver, background, onBackground } = palette
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

/** The rules for elements that are directly on the background of the page, not on a card. */
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
