import { z } from 'zod'

/** How long what the service issues lives: the settings, and the type of whoever goes by them. */

export const DAY_SECONDS = 86_400

/** A whole number of seconds, one at least. */
export const seconds = (max: number) => z.int().min(1).max(max)

export const lifetimes = z.strictObject({
  authorizationCodeSeconds: seconds(600),
  accessTokenSeconds: seconds(DAY_SECONDS),
  // The specification names this one: the id_token lives 10 minutes.
  idTokenSeconds: z.literal(600),
  // When it is not used; every use starts it again.
  refreshTokenSeconds: seconds(400 * DAY_SECONDS),
  // A chain of refresh tokens in all, however often it is used.
  refreshTokenAbsoluteSeconds: seconds(400 * DAY_SECONDS),
  // So long a repeated refresh of the same token gets the same answer.
  refreshRetrySeconds: seconds(60),
  sessionSeconds: seconds(400 * DAY_SECONDS),
  interactionSeconds: seconds(DAY_SECONDS),
  // Of /admin and /account; when it is over, the browser session signs in again unseen.
  pageSessionSeconds: seconds(30 * DAY_SECONDS),
})

export type Lifetimes = z.infer<typeof lifetimes>
