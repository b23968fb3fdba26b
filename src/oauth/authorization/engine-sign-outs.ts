import type { Provider } from 'oidc-provider'

import type { EngineClient } from '../clients/client-metadata.ts'
import type { SignOutNotice, SignOuts } from '../sign-outs/sign-outs.ts'

/** What the engine does to tell a client of a sign-out, at once; its types leave it out. */
interface Telling {
  backchannelLogout(this: EngineClient, personId: string, sid?: string): Promise<void>
  includeSid(this: EngineClient): boolean
}

/**
 * A sign-out is written down instead of sent while the person waits, and every id_token of a client that
 * is told names the session. What the engine would have sent is `sendSignOut`.
 */
export function writeSignOutsDown(provider: Provider, signOuts: SignOuts | undefined) {
  const telling = provider.Client.prototype as unknown as Telling
  const { backchannelLogout } = telling
  telling.includeSid = function includeSid() {
    return this.backchannelLogoutUri !== undefined
  }
  telling.backchannelLogout = async function writeDown(personId, sid) {
    await signOuts?.signedOut({ clientId: this.clientId, personId, sid })
  }
  /** Signs a logout token with the present key and posts it, through the guard of all that goes out. */
  return async ({ clientId, personId, sid }: SignOutNotice): Promise<void> => {
    const client = await provider.Client.find(clientId)
    // Nobody wants to hear of it any more.
    if (client?.backchannelLogoutUri === undefined) return
    // It would refuse one without, which is only of a sign-in from before it had an address.
    if (client.backchannelLogoutSessionRequired && sid === undefined) return
    const asked = { backchannelLogoutSessionRequired: { value: sid !== undefined } }
    await backchannelLogout.call(Object.create(client, asked), personId, sid)
  }
}
