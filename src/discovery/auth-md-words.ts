/** A duration in the largest unit that says it exactly: `600` is "10 minutes". */
export function inWords(seconds: number): string {
  const [name, size] = units.find(([, size]) => seconds >= size && seconds % size === 0) ?? second
  const count = seconds / size
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

const second = ['second', 1] as const
const units = [['day', 86_400], ['hour', 3600], ['minute', 60], second] as const

/** A Markdown table. A bar inside a cell would end the cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Words in code marks, as an enumeration: "`a`, `b` and `c`". */
export function listed(words: readonly string[], conjunction: 'and' | 'or' = 'and'): string {
  const marked = words.map((word) => `\`${word}\``)
  const last = marked.pop() ?? ''
  return marked.length === 0 ? last : `${marked.join(', ')} ${conjunction} ${last}`
}

export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``
}
