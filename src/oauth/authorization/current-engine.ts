import type { JSONWebKeySet } from 'jose'
import type { Provider } from 'oidc-provider'

import type { SendNotice, SignOuts } from '../sign-outs/sign-outs.ts'
import { keysOfClient } from './engine-proofs.ts'
import { writeSignOutsDown } from './engine-sign-outs.ts'

export interface CurrentEnginePorts {
  /** Present while applications are told of sign-outs. */
  readonly signOuts: SignOuts | undefined
}

/** What is asked of the engine outside of its own requests: of the one whose keys sign now. */
export function makeCurrentEngine({ signOuts }: CurrentEnginePorts) {
  let current: { readonly engine: Provider; readonly send: SendNotice } | undefined
  return {
    follow(engine: Provider): void {
      current = { engine, send: writeSignOutsDown(engine, signOuts) }
    },
    /** The public keys of a client that authenticates with one. */
    findClientKeys: async (clientId: string): Promise<JSONWebKeySet> =>
      current ? await keysOfClient(current.engine, clientId) : { keys: [] },
    /** Tells an application of a sign-out. */
    sendSignOut: (async (notice) => await current?.send(notice)) satisfies SendNotice,
  }
}
