/** Stores sealed values in cookies, for a step that continues in the same browser. */

import type { Context } from 'koa'

/** Encrypts and decrypts strings that only this service reads. The label binds a string to its purpose. */
export interface Seals {
  readonly seal: (plain: string, label: string) => string
  readonly open: (sealed: string, label: string) => string
}

/** Decrypts a string that a browser returned; undefined if it is not genuine, or has another label. */
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
 * Creates the functions that write and read values in one cookie. `of` identifies the interaction or browser to which a
 * value belongs. Browsers send the cookie only below the path `pathOf(of)`.
 */
export function makeKeptValues<Value>(
  cookie: string,
  keptSeconds: number,
  { seals, now }: { readonly seals: Seals; readonly now: () => number },
  pathOf: (of: string) => string,
) {
  const labelOf = (of: string) => `${cookie} ${of}`
  return {
    /** Stores a value; undefined removes it. */
    set(ctx: Context, of: string, value: Value | undefined): void {
      const kept = value && JSON.stringify({ value, until: now() + keptSeconds * 1000 })
      ctx.cookies.set(cookie, kept ? seals.seal(kept, labelOf(of)) : null, {
        ...{ httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false, overwrite: true },
        ...{ path: pathOf(of), maxAge: keptSeconds * 1000 },
      })
    },
    /** Reads the value; undefined if it is absent, has expired, or was sealed for another `of`. */
    read(ctx: Context, of: string): Value | undefined {
      const opened = openOrNothing(seals, ctx.cookies.get(cookie) ?? '', labelOf(of))
      // No validation is needed: only `set` can have sealed the content.
      const { value, until } = opened === undefined ? {} : JSON.parse(opened)
      return until > now() ? value : undefined
    },
  }
}
