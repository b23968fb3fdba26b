import type { JSONWebKeySet } from 'jose'
import type { Provider } from 'oidc-provider'

import type { EngineClient } from '../clients/client-metadata.ts'
import { keysOfClient } from './engine-clients.ts'
import type { SendNotice, SignOuts } from './sign-outs.ts'

/**
 * What other parts ask of the engine outside of its own requests, answered by the one whose keys sign now.
 *
 * @param signOuts present while applications are notified of sign-outs
 */
export function makeCurrentEngine(signOuts: SignOuts | undefined) {
  let current: { readonly engine: Provider; readonly send: SendNotice } | undefined
  return {
    follow(engine: Provider): void {
      current = { engine, send: queueSignOuts(engine, signOuts) }
    },
    /** The public keys of a client that authenticates with one. */
    findClientKeys: async (clientId: string): Promise<JSONWebKeySet> =>
      current ? await keysOfClient(current.engine, clientId) : { keys: [] },
    /** Notifies an application of a sign-out. */
    sendSignOut: (async (notice) => await current?.send(notice)) satisfies SendNotice,
  }
}

/** How the engine notifies a client of a sign-out, at once; its types leave it out. */
interface Notifying {
  backchannelLogout(this: EngineClient, personId: string, sid?: string): Promise<void>
  includeSid(this: EngineClient): boolean
}

/**
 * Makes the engine queue a sign-out instead of sending it while the person waits, and name the session in
 * every id_token of a client that is notified.
 *
 * @returns what the engine would have done: signs a logout token with the present key and posts it
 */
function queueSignOuts(provider: Provider, signOuts: SignOuts | undefined): SendNotice {
  const notifying = provider.Client.prototype as unknown as Notifying
  const { backchannelLogout } = notifying
  notifying.includeSid = function includeSid() {
    return this.backchannelLogoutUri !== undefined
  }
  notifying.backchannelLogout = async function queue(personId, sid) {
    await signOuts?.signedOut({ clientId: this.clientId, personId, sid })
  }
  return async ({ clientId, personId, sid }) => {
    const client = await provider.Client.find(clientId)
    // The client does not want notices any more.
    if (client?.backchannelLogoutUri === undefined) return
    // A session without a sid began before the client had an address; the client would refuse the notice.
    if (client.backchannelLogoutSessionRequired && sid === undefined) return
    const asked = { backchannelLogoutSessionRequired: { value: sid !== undefined } }
    await backchannelLogout.call(Object.create(client, asked), personId, sid)
  }
}
