import type { Browser } from 'playwright-core'

import type { Desk } from './desk.ts'
import type { ModelServer } from './model-server.ts'
import type { Way } from './ways.ts'

export interface Driving {
  readonly way: Way
  readonly address: string
  /** The client_id that an operator created for a member's client; undefined for a client that registers itself. */
  readonly clientId: string | undefined
  /** The scopes of the tools, for a client that does not discover them. */
  scopes(): Promise<readonly string[]>
  readonly folder: string
  readonly desk: Desk
  /** The browser for a client that is a web page. */
  readonly browser: Browser
  readonly model: ModelServer
  /** Calls the tools in `Way.calls` in order. Repeats a call after the person has approved it. Returns all results. */
  use(
    call: (tool: string, values: Readonly<Record<string, unknown>>) => Promise<string>,
  ): Promise<string>
}

/** Lets a client sign in and call the tools, as its documentation says. Returns the results that the client shows. */
export type Drive = (driving: Driving) => Promise<string>

export const SERVER = 'gatehouse'

export const QUESTION = 'What do I have here?'

/** Calls the tools by a command that asks the client's model. */
export const ask = async (
  { desk, model, use }: Driving,
  ...command: Parameters<Desk['succeed']>
): Promise<string> =>
  await use(async (tool, values) => {
    model.choose(tool, values)
    return await desk.succeed(...command)
  })
