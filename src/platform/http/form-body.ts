import type { Context } from 'koa'

import { unsupportedBody } from './errors.ts'
import { refusePacked } from './plain-request.ts'
import { readRequestBody } from './request-body.ts'

const FORM = 'application/x-www-form-urlencoded'
/** As much as the engine reads at the endpoints that are its own. */
const FORM_BYTES_MAX = 56 * 1024

/**
 * The parameters of a form that a program posted; none when there is no body.
 *
 * @throws bodyTooLarge or unsupportedBody
 */
export async function readForm(ctx: Context): Promise<URLSearchParams> {
  refusePacked(ctx)
  const type = ctx.get('content-type')
  if (type === '') return new URLSearchParams()
  if (ctx.request.type.toLowerCase() !== FORM) throw unsupportedBody(FORM)
  // The URL standard knows this format in UTF-8 only, whatever the header says besides.
  return new URLSearchParams((await readRequestBody(ctx, FORM_BYTES_MAX)).toString())
}

/** One parameter; an empty one counts as absent (RFC 6749 §3.2). */
export function parameterOf(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) || undefined
}

/** What is wrong with a request that has one of these parameters twice (RFC 6749 §3.2). */
export function repetitionIn(
  parameters: URLSearchParams,
  names: readonly string[],
): string | undefined {
  const repeated = names.find((name) => parameters.getAll(name).length > 1)
  return repeated && `'${repeated}' parameter must not be provided twice`
}
