/** What a site chose, each as `#rrggbb`; null is the service's own. */
export interface SiteColors {
  readonly accentColor: string | null
  readonly backgroundColor: string | null
}

/** The white of a card, and of the words on a button; and the two that words on a background may have. */
export const WHITE = '#ffffff'
const DARK = '#1b2429'

/** The colors of a page, with those that follow from what the site chose. */
export interface Palette {
  readonly accent: string | undefined
  readonly accentOver: string | undefined
  readonly background: string | undefined
  /** The words on the background. */
  readonly onBackground: string | undefined
}

export function paletteOf({ accentColor, backgroundColor }: SiteColors): Palette {
  return {
    accent: accentColor ?? undefined,
    accentOver: accentColor === null ? undefined : darker(accentColor),
    background: backgroundColor ?? undefined,
    onBackground: backgroundColor === null ? undefined : textColorOn(backgroundColor),
  }
}

/** Dark or white text, whichever has the higher contrast on this background. */
export function textColorOn(background: string): string {
  return contrastOf(DARK, background) >= contrastOf(WHITE, background) ? DARK : WHITE
}

/** As many times the luminance of text and ground have to differ (WCAG 2.2, success criterion 1.4.3). */
export const CONTRAST_MIN = 4.5

/** How well text can be read on a ground, from 1 to 21 (WCAG 2.2, contrast ratio). Both as `#rrggbb`. */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** WCAG 2.2, relative luminance, of a color in sRGB. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color)
    .map((channel) => channel / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The same color with less light. */
export function darker(color: string): string {
  const shades = channelsOf(color).map((channel) => Math.round(channel * 0.75))
  return `#${shades.map((shade) => shade.toString(16).padStart(2, '0')).join('')}`
}

function channelsOf(color: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}
