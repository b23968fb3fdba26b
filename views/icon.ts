import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A gatehouse, in a square of 24. */
export const iconShape = 'M3 21V4h3v2h2V4h3v4h2V4h3v2h2V4h3v17h-6v-4a3 3 0 0 0-6 0v4z'

/** The icon of the service for where the page's own colour is not known. */
export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#12796b" d="${iconShape}"/></svg>`

/** The same as 128 by 128 pixels, for hosts that show no vector graphics. */
export const iconPng: Buffer = readFileSync(join(import.meta.dirname, 'icon.png'))
