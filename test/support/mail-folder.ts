import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { rowsOf } from './database.ts'
import type { RunningService } from './gatehouse.ts'
import { eventually } from './programs.ts'

type Mailing = Pick<RunningService, 'config'>

/** Returns the mails to an address, or all mails, oldest first, without soft line breaks. */
export function mailsTo({ config }: Mailing, to = ''): string[] {
  const folder = join(config.dataDir, 'mail')
  return (existsSync(folder) ? readdirSync(folder) : [])
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('=\r\n', ''))
    .filter((mail) => mail.includes(`To: ${to}`))
}

/** Waits for a mail with this text, to an address or to any. Returns all such mails. */
export async function mailsWith(service: Mailing, text: string, to = ''): Promise<string[]> {
  return await eventually(10_000, async () => {
    const found = mailsTo(service, to).filter((mail) => mail.includes(text))
    expect(found, text).to.not.deep.equal([])
    return found
  })
}

/** Waits until every message has been sent or dropped. */
export async function mailsHandled({ kysely }: Pick<RunningService, 'kysely'>): Promise<void> {
  await eventually(10_000, async () => expect(await rowsOf(kysely, 'outbox')).to.deep.equal([]))
}

const LINK = /^https?:\/\/[^/]+(\/(?:invitation|sign-up|recover|account\/deletion)\/\S+)/m

/** Waits until an address has received `count` mails with a link. Returns the path of the last link. */
export async function linkTo(service: Mailing, to: string, count = 1): Promise<string> {
  return await eventually(10_000, async () => {
    const links = mailsTo(service, to).flatMap((mail) => LINK.exec(mail)?.[1] ?? [])
    const path = links.at(-1)
    if (links.length < count || path === undefined) throw new Error(`no mail to ${to} yet`)
    return path
  })
}
