import { renderDuration } from './durations.ts'
import { defaultsInForce } from './strangers-document.ts'

/** A text with every `{setting}` replaced by its value in the default configuration. */
export function fillFigures(text: string): string {
  return text.replaceAll(/\{(\w+)\.(\w+)\}/g, (_all, section: string, name: string) => {
    const value = Object(Object(defaultsInForce().service)[section])[name]
    if (typeof value !== 'number')
      throw new Error(`the configuration has no number ${section}.${name}`)
    if (name.endsWith('Seconds')) return renderDuration(value)
    return name.endsWith('Days') ? `${value} days` : renderNumber(value)
  })
}

/** "12 000": thousands apart. */
export function renderNumber(value: number): string {
  return value < 10_000 ? String(value) : value.toLocaleString('en').replaceAll(',', ' ')
}
