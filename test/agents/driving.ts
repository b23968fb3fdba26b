import type { Desk } from './desk.ts'
import type { ModelServer } from './model-server.ts'
import type { Way } from './ways.ts'

/** What one client is given to reach one tool. */
export interface Driving {
  readonly way: Way
  /** The whole address of the tools, as the user would paste it. */
  readonly address: string
  /** From an operator, on the way of a member. */
  readonly clientId: string | undefined
  /** What the address says that its tools need, for a client that has to be told. */
  scopes(): Promise<readonly string[]>
  /** Where the client is installed. */
  readonly folder: string
  readonly desk: Desk
  /** Stands in for the model of a client that calls tools only for one. */
  readonly model: ModelServer
}

/**
 * Lets a client sign in and call the tool, as its documentation says.
 *
 * @returns what the client says that the tool answered
 */
export type Drive = (driving: Driving) => Promise<string>

/** The name under which each client knows the service. */
export const SERVER = 'gatehouse'

/** The question that a user puts to a client with a model. */
export const QUESTION = 'What do I have here?'
