import { randomBytes } from 'node:crypto'
import { appendFileSync, cpSync } from 'node:fs'
import { join } from 'node:path'

import { configFolder } from '../support/gatehouse.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import type { Library } from './library-table.ts'
import type { Settings } from './program.ts'

/** The properties of a program that its client registration needs. */
type Registered = Pick<Library, 'name' | 'authentication' | 'callbackPath'>

/** A library or product with the settings of its client. */
export interface Client<Program extends Registered = Library> {
  readonly library: Program
  readonly settings: Settings
}

export async function makeClients<Program extends Registered>(
  chosen: readonly Program[],
  issuer: string,
): Promise<Client<Program>[]> {
  return await Promise.all(
    chosen.map(async (library) => {
      const port = String(await freePort())
      const origin = `http://127.0.0.1:${port}`
      const secret = randomBytes(32).toString('base64url')
      const settings: Settings = {
        ISSUER: issuer,
        CLIENT_ID: `interop-${library.name.replace(/\W+/g, '-').toLowerCase()}`,
        ...(library.authentication !== 'none' && { CLIENT_SECRET: secret }),
        APP_URL: origin,
        REDIRECT_URI: origin + (library.callbackPath ?? '/callback'),
        SIGNED_OUT_URI: `${origin}/`,
        PORT: port,
      }
      return { library, settings }
    }),
  )
}

/** Creates a folder for CONFIG_DIR whose demo campus has an application for each client. */
export function campusWith(clients: readonly Client<Registered>[]): string {
  const folder = temporaryFolder()
  cpSync(configFolder, folder, { recursive: true })
  const applications = clients.map(({ library: { name, authentication }, settings }) => ({
    type: 'application',
    clientId: settings.CLIENT_ID,
    kind: 'site',
    site: 'sit_northlight',
    name,
    authMethod: authentication === 'none' ? 'none' : 'client_secret_post',
    applicationType: 'web',
    redirectUris: [settings.REDIRECT_URI],
    postLogoutRedirectUris: [settings.SIGNED_OUT_URI],
    scopes: ['account:read'],
    secret: settings.CLIENT_SECRET,
    createdBy: 'per_olivia',
    createdAt: '1 day ago',
  }))
  const lines = applications.map((application) => `${JSON.stringify(application)}\n`)
  appendFileSync(join(folder, 'demo/8-applications.ndjson'), lines.join(''))
  return folder
}
