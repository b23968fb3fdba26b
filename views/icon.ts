import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The path of the icon, in a square of 24 units. */
export const iconShape = 'M3 21V4h3v2h2V4h3v4h2V4h3v2h2V4h3v17h-6v-4a3 3 0 0 0-6 0v4z'

/** The icon in a fixed color, for use outside a page. */
export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#12796b" d="${iconShape}"/></svg>`

/** The icon as PNG, for programs that cannot show SVG. */
export const iconPng: Buffer = readFileSync(join(import.meta.dirname, 'icon.png'))
