import { badInput } from '../changes/refused.ts'
import { CONTRAST_MIN, contrastOf, darker } from './contrast.ts'

/** What a site chose, each as `#rrggbb`; null is the service's own. */
export interface SiteColors {
  readonly accentColor: string | null
  readonly backgroundColor: string | null
}

/** The white of a card, and of the words on a button; and the two that words on a background may have. */
const WHITE = '#ffffff'
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
    onBackground: backgroundColor === null ? undefined : wordsOn(backgroundColor),
  }
}

/** Dark words or white ones, whichever can be read better. */
function wordsOn(background: string): string {
  return contrastOf(DARK, background) >= contrastOf(WHITE, background) ? DARK : WHITE
}

/**
 * @throws ChangeRefused that names the color which words could not be read with, and by how much
 */
export function mustBeLegible({ accentColor, backgroundColor }: SiteColors): void {
  if (accentColor !== null) {
    demand('accentColor', {
      ratio: contrastOf(accentColor, WHITE),
      pair: `${accentColor} with ${WHITE}, the words of buttons and the ground of links,`,
    })
  }
  if (backgroundColor !== null) {
    const words = wordsOn(backgroundColor)
    demand('backgroundColor', {
      ratio: contrastOf(backgroundColor, words),
      pair: `${backgroundColor} with ${words}, the better of the two colors of words on it,`,
    })
  }
}

function demand(
  field: string,
  { ratio, pair }: { readonly ratio: number; readonly pair: string },
): void {
  if (ratio >= CONTRAST_MIN) return
  // Cut and not rounded, or 4.49 would be told as enough.
  const shown = Math.floor(ratio * 100) / 100
  throw badInput(
    field,
    `must be legible: ${pair} has a contrast of ${shown}:1, and ${CONTRAST_MIN}:1 is needed`,
  )
}
