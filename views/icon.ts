import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Html, html, trusted } from './html.ts'

/** The SVG path of the icon of the service, in a square of 24 units. */
export const iconShape = 'M3 21V4h3v2h2V4h3v4h2V4h3v2h2V4h3v17h-6v-4a3 3 0 0 0-6 0v4z'

/** The icon of the service in a fixed color, for use outside a page. */
export const iconSvg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#12796b" d="${iconShape}"/></svg>`

/** The icons in icons.svg, without the logos of assistants. */
// biome-ignore format: one name per line would take 22 lines
export const iconNames = [
  'bell', 'bot', 'chart-line', 'check', 'circle-check', 'circle-user', 'download',
  'fingerprint-pattern', 'flask-conical', 'house', 'key-round', 'layout-grid', 'link',
  'monitor-smartphone', 'palette', 'plus', 'scroll-text', 'server', 'shield-check', 'smartphone',
  'terminal', 'users',
] as const

export type IconName = (typeof iconNames)[number]

const sprite = readFileSync(join(import.meta.dirname, 'icons.svg'), 'utf8')
const shapes: ReadonlyMap<string, Html> = new Map(
  Array.from(sprite.matchAll(/<symbol id="(.+?)">(.+)<\/symbol>/g), ([, name = '', shape = '']) => [
    name,
    html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${trusted(shape)}</svg>`,
  ]),
)

/** An icon from the sprite as inline SVG, so it needs no request and takes the color of the text. */
export function icon(name: IconName): Html | undefined {
  return shapes.get(name)
}

/** The logo of an assistant; undefined if the sprite has none. */
export function logoOf(assistant: string | null | undefined): Html | undefined {
  return shapes.get(`logo-${assistant}`)
}

/** The icon of the service as PNG, for programs that cannot show SVG. */
export const iconPng: Buffer = readFileSync(join(import.meta.dirname, 'icon.png'))
