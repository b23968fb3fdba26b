import { type Html, type HtmlValue, html } from './html.ts'
import { numberText } from './text.ts'

export interface Bar {
  readonly label: HtmlValue
  readonly value: number
}

const WIDTH = 320
const HEIGHT = 100

/**
 * Draws a vertical bar for each entry as SVG, from left to right. Labels the first and the last entry.
 *
 * @param summary a text alternative to the bars
 */
export function columnChart(title: HtmlValue, summary: HtmlValue, bars: readonly Bar[]): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  const step = WIDTH / Math.max(1, bars.length)
  const drawn = bars.map(({ label, value }, index) => {
    // Keep even the smallest bar visible.
    const height = value === 0 ? 0 : Math.max(1, (value / most) * HEIGHT)
    return html`<rect x="${round(index * step)}" y="${round(HEIGHT - height)}" width="${round(step * 0.8)}" height="${round(height)}"><title>${label}: ${numberText(value)}</title></rect>\n`
  })
  return html`<div class="small" aria-hidden="true">${numberText(most)}</div>
<svg id="chart" class="chart" role="img" aria-labelledby="chart-title chart-summary" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
<title id="chart-title">${title}</title>
<desc id="chart-summary">${summary}</desc>
${drawn}</svg>
<div class="split small" aria-hidden="true"><span>${bars[0]?.label}</span><span>${bars.at(-1)?.label}</span></div>`
}

/** Draws values as a line without labels, for pages that explain the values in text. */
export function sparkline(values: readonly number[]): Html {
  const most = Math.max(1, ...values)
  const step = 100 / Math.max(1, values.length - 1)
  const points = values.map(
    (value, index) => `${round(index * step)},${round(29 - (value / most) * 28)}`,
  )
  return html`<svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true"><polyline vector-effect="non-scaling-stroke" points="${points.join(' ')}"/></svg>`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
