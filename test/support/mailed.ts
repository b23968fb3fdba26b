import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { RunningService } from './gatehouse.ts'
import { eventually } from './programs.ts'

/** Returns the path of a one-time link in the mails of a service, once one of them has it. */
export async function mailedPath({ config }: RunningService, path: string, linkId = '') {
  const folder = join(config.dataDir, 'mail')
  return await eventually(10_000, async () => {
    const mails = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
    const [found] = new RegExp(`${path}/${linkId}[\\w.-]+`).exec(
      mails.join('\n').replaceAll('=\r\n', ''),
    ) ?? ['']
    if (found === '') throw new Error('no mail has the link')
    return found
  })
}
