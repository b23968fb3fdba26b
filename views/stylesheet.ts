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
export const areaStylesheet: Stylesheet = sheetOf('area', ['style.css', 'frame.css', 'area.css'])

/** Values of custom properties of style.css, without their leading `--`. */
type Tokens = Readonly<Record<string, string>>

/** The colors that a site chose, and the tokens that follow from them in each scheme. */
interface SitePalette {
  readonly accent: string | null
  readonly background: string | null
  readonly light: Tokens
  readonly dark: Tokens
}

/** Creates the stylesheet with the colors of a site. A logo made for its background has no white ground there. */
export function colorSheet({ accent, background, light, dark }: SitePalette): Stylesheet {
  const bareLogo = '.brand img { padding: 0; background: none; }'
  const keepsGround = light['ground'] === dark['ground']
  const rules = [
    rootRule(light),
    `@media (prefers-color-scheme: dark) { ${rootRule(dark)} }`,
    background && (keepsGround ? bareLogo : `@media (prefers-color-scheme: light) { ${bareLogo} }`),
  ]
  const content = Buffer.from(rules.filter(Boolean).join('\n'))
  const digits = (color: string | null) => color?.slice(1) ?? 'own'
  return {
    file: `colors-${digits(accent)}-${digits(background)}-${digestOf(content)}.css`,
    content,
  }
}

function rootRule(tokens: Tokens): string {
  const values = Object.entries(tokens).map(([name, value]) => `--${name}: ${value};`)
  return `:root { ${values.join(' ')} }`
}

function sheetOf(name: string, files: readonly string[]): Stylesheet {
  const content = Buffer.concat(files.map((file) => readFileSync(join(import.meta.dirname, file))))
  return { file: `${name}-${digestOf(content)}.css`, content }
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 10)
}
