import type { Desk } from './desk.ts'
import type { ModelServer } from './model-server.ts'
import type { Way } from './ways.ts'

/** What one client needs to reach one tool. */
export interface Driving {
  readonly way: Way
  /** The address of the tools. */
  readonly address: string
  /** A member's client gets one from an operator. */
  readonly clientId: string | undefined
  /** The scopes of the tools, for a client that does not discover them. */
  scopes(): Promise<readonly string[]>
  /** Where the client is installed. */
  readonly folder: string
  readonly desk: Desk
  /** The model of a client that calls tools only for one. */
  readonly model: ModelServer
}

/** Lets a client sign in and call the tool, as its documentation says. Returns the result that the client shows. */
export type Drive = (driving: Driving) => Promise<string>

/** The name under which each client knows the service. */
export const SERVER = 'gatehouse'

/** The question that a user puts to a client with a model. */
export const QUESTION = 'What do I have here?'
