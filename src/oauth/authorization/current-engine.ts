import type { JSONWebKeySet } from 'jose'
import type { Provider } from 'oidc-provider'

import type { EngineClient } from '../clients/client-metadata.ts'
import { keysOfClient } from './engine-clients.ts'
import type { SendNotice, SignOuts } from './sign-outs.ts'

/**
 * Gives other parts access to the engine of the present key ring.
 *
 * @param signOuts undefined when applications are not notified of sign-outs
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

/** Methods of the engine's client that its types leave out. */
interface Notifying {
  backchannelLogout(this: EngineClient, personId: string, sid?: string): Promise<void>
  includeSid(this: EngineClient): boolean
}

/**
 * Makes the engine queue a sign-out notice instead of sending it while the person waits, and include `sid` in
 * every id_token of a notified client.
 *
 * @returns the engine's own method: signs a logout token with the present key and posts it
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
    // The client no longer wants notices.
    if (client?.backchannelLogoutUri === undefined) return
    // A session without sid began before the client registered its address; the client would reject the notice.
    if (client.backchannelLogoutSessionRequired && sid === undefined) return
    const asked = { backchannelLogoutSessionRequired: { value: sid !== undefined } }
    await backchannelLogout.call(Object.create(client, asked), personId, sid)
  }
}
