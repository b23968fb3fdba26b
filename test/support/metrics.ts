import { eventually } from './programs.ts'

export type Scrape = ReturnType<typeof parseScrape>

/** Parses metrics in the text format of Prometheus, version 0.0.4. */
export function parseScrape(text: string) {
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('# '))
    .map((line) => {
      const [, name, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      if (name === undefined) throw new Error(`no sample: ${line}`)
      const pairs = [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, ...pair]) => pair)
      const labels: Readonly<Record<string, string>> = Object.fromEntries(pairs)
      return { name, labels, value: Number(value) }
    })
  return {
    ...{ text, samples },
    sum: (name: string, labels: Readonly<Record<string, string>> = {}): number =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([l, v]) => sample.labels[l] === v))
        .reduce((sum, { value }) => sum + value, 0),
  }
}

export async function scrape(port: number): Promise<Scrape> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
  return parseScrape(text)
}

/** Scrapes until a check passes, because a request may be counted shortly after its response. */
export async function scrapeUntil(port: number, check: (scraped: Scrape) => void): Promise<Scrape> {
  return await eventually(20_000, async () => {
    const scraped = await scrape(port)
    check(scraped)
    return scraped
  })
}
