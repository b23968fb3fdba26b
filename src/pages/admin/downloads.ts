import type { Context } from 'koa'

/** Sends text as a file to download. */
export function sendDownload(ctx: Context, fileName: string, text: string): undefined {
  ctx.attachment(fileName)
  ctx.set('Cache-Control', 'no-store')
  ctx.body = text
}

/**
 * Sends rows as a CSV file (RFC 4180). Spreadsheets run cells that begin with `=`, `+`, `-` or `@` as formulas, so such
 * cells get a leading apostrophe (OWASP, CSV injection).
 */
export async function sendCsv(ctx: Context, name: string, rows: readonly object[]) {
  // Load the library at its first use, to keep start-up fast.
  const { stringify } = await import('csv-stringify/sync')
  const text = stringify([...rows], {
    header: true,
    escape_formulas: true,
    record_delimiter: 'windows',
  })
  return sendDownload(ctx, `${name}.csv`, text)
}
