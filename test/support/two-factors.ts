import { MFA_ACR } from '../../src/directory/people/authentication.ts'
import type { HeadlessPerson } from '../../tools/token/headless-person.ts'
import type { RunningService } from './gatehouse.ts'

/** Changes the session of a signed-in person as if it had begun with two factors. */
export async function useTwoFactors(person: HeadlessPerson, { url, service }: RunningService) {
  const [, id = ''] = /gatehouse=([^;]+)/.exec(person.cookiesFor(new URL(url))) ?? []
  const sessions = service.stores.state.adapterFor('Session')
  const session = await sessions.find(id)
  if (!session) throw new Error('the person is not signed in')
  await sessions.upsert(id, { ...session, acr: MFA_ACR, amr: ['pwd', 'otp', 'mfa'] }, 3600)
  await service.stores.database.kysely
    .updateTable('browser_session')
    .set({ acr: MFA_ACR })
    .where('id', '=', String(session['uid']))
    .execute()
}
