import { generateSync } from 'otplib'

import { MFA_ACR } from '../../src/directory/people/authentication.ts'
import type { HeadlessPerson } from '../../tools/token/headless-person.ts'
import { change } from './database.ts'
import type { RunningService } from './gatehouse.ts'
import { type PagePerson, textOf } from './page-person.ts'

/** Changes the session of a signed-in person as if the person had signed in with two factors. */
export async function useTwoFactors(person: HeadlessPerson, running: RunningService) {
  const { url, kysely, service } = running
  const [, id = ''] = /gatehouse=([^;]+)/.exec(person.cookiesFor(new URL(url))) ?? []
  const sessions = service.stores.state.adapterFor('Session')
  const session = await sessions.find(id)
  if (!session) throw new Error('the person is not signed in')
  await sessions.upsert(id, { ...session, acr: MFA_ACR, amr: ['pwd', 'otp', 'mfa'] }, 3600)
  await change(kysely, 'browser_session', { id: String(session['uid']) }, { acr: MFA_ACR })
}

/** Adds an authenticator app to an account. Returns the pages with its key and recovery codes, and its code generator. */
export async function addApp(person: PagePerson, nowMs: number) {
  const page = '/account/second-factor'
  const form = await person.submit(page, {}, `${page}/app`)
  const secret = textOf(form, 'key').replaceAll(' ', '')
  const codeAt = (ms: number) => generateSync({ secret, epoch: Math.floor(ms / 1000) })
  const done = await person.send(form, `${page}/app/confirm`, { code: codeAt(nowMs) })
  return { form, done, codeAt }
}
