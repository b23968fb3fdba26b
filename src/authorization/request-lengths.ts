/** How long an authorization request may be, in characters after decoding. */
export interface RequestLimits {
  readonly stateCharactersMax: number
  /** All values of all parameters together. */
  readonly charactersMax: number
}

/**
 * What anybody sends is kept until the person has answered, so that each parameter has a length that no
 * honest client needs to exceed. A state is the longest: libraries seal into it where the person was, and
 * through a chain of providers it becomes more than two thousand characters (ASP.NET's handler; other
 * providers take from 1024 to 8192 of them). Every scope there is makes 700, an id_token of ours 1500, and a
 * nonce of ASP.NET 140. What a proxy or a server takes as an address ends at 8 kB anyway.
 */
const charactersMax: Readonly<Record<string, number>> = {
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
  limits: RequestLimits,
): string | undefined {
  const lengths = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, length: [value].flat().map(String).join(' ').length }],
  )
  for (const { name, length } of lengths) {
    const max = name === 'state' ? limits.stateCharactersMax : (charactersMax[name] ?? OTHERS_MAX)
    if (length > max) return `the parameter ${name} has ${length} characters, and may have ${max}`
  }
  const total = lengths.reduce((sum, { length }) => sum + length, 0)
  if (total <= limits.charactersMax) return undefined
  return `the parameters have ${total} characters together, and may have ${limits.charactersMax}`
}
