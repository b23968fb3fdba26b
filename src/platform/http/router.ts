import Router from 'koa-router'

/**
 * The router of every part: an address is spelled in one way only, to the letter's case and to the
 * slash at its end (docs/decisions/0003-one-spelling-per-address.md).
 */
export function makeRouter(): Router {
  return new Router({ sensitive: true, strict: true })
}
