/** How long an authorization request may be, in bytes as it is kept: of JSON. */
export interface RequestLengths {
  readonly stateBytesMax: number
  /** All values of all parameters together. */
  readonly bytesMax: number
}

/**
 * What anybody sends is kept until the person has answered, so that each parameter has a length that no
 * honest client needs to exceed. A state is the longest: libraries seal into it where the person was, and
 * through a chain of providers it becomes more than two thousand characters (ASP.NET's handler; other
 * providers take from 1024 to 8192 of them). Every scope there is makes 700, an id_token of ours 1500, and a
 * nonce of ASP.NET 140. What a proxy or a server takes as an address ends at 8 kB anyway.
 */
const bytesMax: Readonly<Record<string, number>> = {
  redirect_uri: 2048,
  client_id: 2048,
  scope: 2048,
  claims: 2048,
  id_token_hint: 4096,
  resource: 2048,
}

/** Of every other parameter: nonce, login_hint, prompt, acr_values and the like. */
const OTHERS_MAX = 512

/** What of a request is too long, as a sentence for its client; nothing when all of it may be kept. */
export function whatIsTooLong(
  parameters: Readonly<Record<string, unknown>>,
  limits: RequestLengths,
): string | undefined {
  const lengths = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, bytes: bytesOf(value) }],
  )
  for (const { name, bytes } of lengths) {
    const max = name === 'state' ? limits.stateBytesMax : (bytesMax[name] ?? OTHERS_MAX)
    if (bytes > max) return `the parameter ${name} has ${bytes} bytes, and may have ${max}`
  }
  const total = lengths.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= limits.bytesMax) return undefined
  return `the parameters have ${total} bytes together, and may have ${limits.bytesMax}`
}

/** A control character is six bytes of JSON, and one of an Asian script three. */
function bytesOf(value: unknown): number {
  const text = [value].flat().map(String).join(' ')
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
