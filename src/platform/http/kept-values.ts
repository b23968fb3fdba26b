/** Stores sealed values in cookies, so that a later step in the same browser can read them. */

import type { Context } from 'koa'

/** Encrypts and decrypts strings that only this service reads. The label binds a string to its purpose. */
export interface Seals {
  readonly seal: (plain: string, label: string) => string
  readonly open: (sealed: string, label: string) => string
}

/** Decrypts a string that a browser returned; undefined if it is not genuine, or was sealed with another label. */
export function openOrNothing(
  seals: Pick<Seals, 'open'>,
  sealed: string,
  label: string,
): string | undefined {
  try {
    return seals.open(sealed, label)
  } catch {
    return undefined
  }
}

/**
 * Creates the functions that write and read values in one cookie. `owner` identifies the interaction or browser to
 * which a value belongs. Browsers send the cookie only at and below the path `pathOf(owner)`.
 */
export function makeKeptValues<Value>(
  cookie: string,
  keptSeconds: number,
  { seals, now }: { readonly seals: Seals; readonly now: () => number },
  pathOf: (owner: string) => string,
) {
  const labelOf = (owner: string) => `${cookie} ${owner}`
  return {
    /** Stores a value; undefined removes it. */
    set(ctx: Context, owner: string, value: Value | undefined): void {
      const kept = value && JSON.stringify({ value, until: now() + keptSeconds * 1000 })
      ctx.cookies.set(cookie, kept ? seals.seal(kept, labelOf(owner)) : null, {
        ...{ httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false, overwrite: true },
        ...{ path: pathOf(owner), maxAge: keptSeconds * 1000 },
      })
    },
    /** Reads the value; undefined if it is absent, has expired, or was sealed for another owner. */
    read(ctx: Context, owner: string): Value | undefined {
      const opened = openOrNothing(seals, ctx.cookies.get(cookie) ?? '', labelOf(owner))
      // The seal proves that `set` wrote the content, so skip validation.
      const { value, until } = opened === undefined ? {} : JSON.parse(opened)
      return until > now() ? value : undefined
    },
  }
}
