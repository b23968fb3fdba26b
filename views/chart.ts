import { type Html, type HtmlValue, html } from './html.ts'
import { numberText } from './text.ts'

/** A bar chart as SVG, which needs no script. */
export interface BarChart {
  /** The id of the element. The ids of its parts begin with it. */
  readonly id: string
  readonly title: HtmlValue
  /** A text alternative to the bars. */
  readonly summary: HtmlValue
  readonly bars: readonly Bar[]
}

export interface Bar {
  readonly label: HtmlValue
  readonly value: number
}

const WIDTH = 320
const HEIGHT = 100

/** Draws a vertical bar for each entry, from left to right. Labels the first and the last entry. */
export function columnChart({ bars, ...chart }: BarChart): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  const step = WIDTH / Math.max(1, bars.length)
  const drawn = bars.map(({ label, value }, index) => {
    // Keep even the smallest bar visible.
    const height = value === 0 ? 0 : Math.max(1, (value / most) * HEIGHT)
    return html`<rect class="bar" x="${round(index * step)}" y="${round(HEIGHT - height)}" width="${round(step * 0.8)}" height="${round(height)}"><title>${label}: ${numberText(value)}</title></rect>\n`
  })
  return html`<div class="small" aria-hidden="true">${numberText(most)}</div>
${picture(chart, HEIGHT, drawn, html` preserveAspectRatio="none"`)}
<div class="split small" aria-hidden="true"><span>${bars[0]?.label}</span><span>${bars.at(-1)?.label}</span></div>`
}

const ROW = 30

/** Draws a horizontal bar for each entry, from top to bottom, with its label and value. */
export function rowChart({ bars, ...chart }: BarChart): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value))
  const rows = bars.map(
    ({ label, value }, index) => html`<text x="0" y="${index * ROW + 12}">${label}</text>
<text x="${WIDTH}" y="${index * ROW + 12}" text-anchor="end">${numberText(value)}</text>
<rect class="bar" x="0" y="${index * ROW + 17}" width="${round((value / most) * WIDTH)}" height="8"/>
`,
  )
  return picture(chart, bars.length * ROW, rows)
}

/** Draws values as a line without labels, for pages that explain the values in text. */
export function sparkline(values: readonly number[]): Html {
  const most = Math.max(1, ...values)
  const step = 100 / Math.max(1, values.length - 1)
  const points = values.map(
    (value, index) => `${round(index * step)},${round(29 - (value / most) * 28)}`,
  )
  return html`<svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true"><polyline points="${points.join(' ')}"/></svg>`
}

function picture(
  { id, title, summary }: Omit<BarChart, 'bars'>,
  height: number,
  parts: readonly Html[],
  attributes?: Html,
): Html {
  return html`<svg id="${id}" class="chart" role="img" aria-labelledby="${id}-title ${id}-summary" viewBox="0 0 ${WIDTH} ${height}"${attributes}>
<title id="${id}-title">${title}</title>
<desc id="${id}-summary">${summary}</desc>
${parts}</svg>`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
