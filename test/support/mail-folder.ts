import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { RunningService } from './gatehouse.ts'
import { eventually } from './programs.ts'

type Mailing = Pick<RunningService, 'config'>

/** The decoded mails to an address, or to all, oldest first. */
export function mailsTo({ config }: Mailing, to = ''): string[] {
  const folder = join(config.dataDir, 'mail')
  return (existsSync(folder) ? readdirSync(folder) : [])
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('=\r\n', ''))
    .filter((mail) => mail.includes(`To: ${to}`))
}

/** The path of the link in the last of `count` mails to an address. */
export async function linkTo(service: Mailing, to: string, count = 1): Promise<string> {
  return await eventually(10_000, async () => {
    const links = mailsTo(service, to).flatMap(
      (mail) => /^https?:\/\/[^/]+(\/(?:invitation|sign-up|recover)\/\S+)/m.exec(mail)?.[1] ?? [],
    )
    const path = links.at(-1)
    if (links.length < count || path === undefined) throw new Error(`no mail to ${to} yet`)
    return path
  })
}

/** The path of a one-time link in any of the mails, once one of them has it. */
export async function mailedPath(service: Mailing, path: string, linkId = ''): Promise<string> {
  return await eventually(10_000, async () => {
    const [found] = new RegExp(`${path}/${linkId}[\\w.-]+`).exec(mailsTo(service).join('\n')) ?? []
    if (found === undefined) throw new Error('no mail has the link')
    return found
  })
}
