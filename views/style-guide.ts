import { avatar } from './avatar.ts'
import { choice, inputField } from './forms.ts'
import { type Html, html } from './html.ts'
import { icon, iconNames } from './icon.ts'
import type { Page } from './layout.ts'
import { tokens } from './stylesheet.ts'

/** Colors of text and control edges, with their background and minimum contrast (WCAG 2.2, 1.4.3 and 1.4.11). */
export const contrastPairs = [
  ['text', 'card', 4.5],
  ['text', 'page', 4.5],
  ['muted', 'card', 4.5],
  ['muted', 'page', 4.5],
  ['accent', 'card', 4.5],
  ['accent', 'page', 4.5],
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-over', 4.5],
  ['text', 'warn', 4.5],
  ['text', 'bad', 4.5],
  ['text', 'good', 4.5],
  ['accent', 'warn', 4.5],
  ['edge', 'card', 3],
  ['warn-edge', 'warn', 3],
  ['bad-edge', 'bad', 3],
  ['good-edge', 'good', 3],
] as const

type Scheme = keyof typeof tokens
type ContrastOf = (one: string, other: string) => number

/** The style guide, which only the demo has: sizes, spaces, color pairs with their contrast, and common components. */
export function styleGuidePage(contrastOf: ContrastOf): Page {
  return {
    title: 'Style guide',
    language: 'en',
    id: 'style-guide-page',
    body: html`<h2>Text</h2>
${['display', 'title', 'large', 'normal', 'small'].map((name) => html`<svg width="100%" height="2rem"><text y="1.5rem" font-size="${tokens.light[name]}" fill="currentColor">${name}, ${tokens.light[name]}</text></svg>\n`)}
<h2>Spaces</h2>
<dl class="facts">
${Object.entries(tokens.light)
  .filter(([name]) => name.startsWith('space-'))
  .map(
    ([name, width]) =>
      html`<div><dt>${name}</dt><dd><svg width="${width}" height="12" aria-hidden="true"><rect width="100%" height="12" fill="var(--accent)"/></svg> ${width}</dd></div>\n`,
  )}</dl>
${colors(contrastOf)}
<h2>Buttons</h2>
<p>Use at most one filled button per page. Other buttons have an edge, except for the least important ones.</p>
<div class="actions"><button type="button">${icon('plus')} First</button> <button type="button" class="second">Second</button>
<button type="button" class="quiet">Quiet</button> <button type="button" class="danger">Danger</button></div>
${forms()}
<h2>Notices</h2>
<p class="notice">A note</p><p class="notice done">Something succeeded</p><p class="notice warning">A warning</p>
<p class="notice problem">A problem</p>
<h2>Badges and avatars</h2>
<p><span class="tag">Neutral</span> <span class="tag good">On</span> <span class="tag warning">Old</span></p>
<p>${avatar('Ada Lindqvist')}</p>
<h2>Empty list</h2>
<div class="empty"><p>Nothing is here yet.</p><a class="button second" href="#style-guide-page">First step</a></div>
<h2>Icons</h2>
<ul>${iconNames.map((name) => html`<li>${icon(name)} ${name}</li>\n`)}</ul>`,
  }
}

function colors(contrastOf: ContrastOf): Html {
  const ratio = (scheme: Scheme, one: string, other: string) => {
    const contrast = contrastOf(tokenColor(scheme, one), tokenColor(scheme, other))
    return html`<td class="number">${contrast.toFixed(1)}</td>`
  }
  return html`<h2>Colors</h2>
<table>
<thead><tr><th>Color on ground</th><th class="number">Light</th><th class="number">Dark</th></tr></thead>
<tbody>
${contrastPairs.map(
  ([
    one,
    other,
  ]) => html`<tr><td><svg width="40" height="16" aria-hidden="true"><rect width="40" height="16" fill="var(--${other})"/><circle cx="20" cy="8" r="5" fill="var(--${one})"/></svg>
${one} on ${other}</td>${ratio('light', one, other)}${ratio('dark', one, other)}</tr>\n`,
)}</tbody></table>`
}

/** Returns the color of a token in a scheme, with six digits. */
export function tokenColor(scheme: Scheme, name: string): string {
  const color = tokens[scheme][name] ?? ''
  return color.length === 4 ? color.replace(/[^#]/g, '$&$&') : color
}

function forms(): Html {
  const field = { label: 'Name', attributes: html` type="text"` }
  return html`<h2>Forms</h2>
${inputField({ ...field, id: 'plain' })}
${inputField({ ...field, id: 'hinted', hint: 'What to enter here.' })}
${inputField({ ...field, id: 'wrong', problem: 'Enter a name.' })}
<fieldset><legend>One of two</legend>
${['One', 'Two'].map((value) => choice({ type: 'radio', name: 'one', value, checked: value === 'One' }, html`${value}`))}</fieldset>
${choice({ type: 'checkbox', name: 'yes', value: 'yes', checked: true }, html`Yes`)}`
}
