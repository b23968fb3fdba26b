import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A stylesheet. Its file name contains a digest of its content, so browsers can cache it forever. */
export interface Stylesheet {
  readonly file: string
  readonly content: Buffer
}

const files = ['style.css', 'frame.css', 'area.css', 'tables.css']
const content = Buffer.concat(files.map((file) => readFileSync(join(import.meta.dirname, file))))

/** The stylesheet of pages without site colors: tokens and elements, the frame of an area, components, and tables. */
export const stylesheet: Stylesheet = { file: `style-${digestOf(content)}.css`, content }

/** The tokens of style.css in the light and the dark scheme. */
const light = tokensIn(':root')
export const tokens = { light, dark: { ...light, ...tokensIn('dark) {\n  :root') } }

function tokensIn(rule: string): Tokens {
  const [, block = ''] = String(stylesheet.content).split(`${rule} {`)
  const values = block.slice(0, block.indexOf('}')).matchAll(/--([\w-]+): ([^;]+);/g)
  return Object.fromEntries([...values].map(([, name, value]) => [name, value]))
}

/** Values of custom properties, by the name of the property without the leading `--`. */
type Tokens = Readonly<Record<string, string>>

/** The colors that a site chose, and the tokens derived from them in each scheme. */
interface SitePalette {
  readonly accent: string | null
  readonly background: string | null
  readonly light: Tokens
  readonly dark: Tokens
}

/** Creates the stylesheet with a site's colors. On a site's own background color, the logo has no white background. */
export function colorSheet({ accent, background, light, dark }: SitePalette): Stylesheet {
  const bareLogo = '.brand img { padding: 0; background: none; }'
  const keepsGround = light['ground'] === dark['ground']
  const rules = [
    rootRule(light),
    `@media (prefers-color-scheme: dark) { ${rootRule(dark)} }`,
    background && (keepsGround ? bareLogo : `@media (prefers-color-scheme: light) { ${bareLogo} }`),
  ]
  const colors = Buffer.from(rules.filter(Boolean).join('\n'))
  const digits = (color: string | null) => color?.slice(1) ?? 'own'
  const digest = digestOf(Buffer.concat([Buffer.from(stylesheet.file), colors]))
  return {
    file: `colors-${digits(accent)}-${digits(background)}-${digest}.css`,
    // Pages need only the file name, so create the content only on request.
    get content() {
      return Buffer.concat([stylesheet.content, colors])
    },
  }
}

function rootRule(tokens: Tokens): string {
  const values = Object.entries(tokens).map(([name, value]) => `--${name}: ${value};`)
  return `:root { ${values.join(' ')} }`
}

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 10)
}
