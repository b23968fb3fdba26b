/** What makes a browser save what it gets, under this name (RFC 6266 §4, RFC 8187 §3.2). */
export function attachment(name: string): string {
  // Programs that do not know the second form get a name in ASCII, without what ends a quoted string.
  const plain = name.toWellFormed().replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}
