import { dataPage } from '../../../views/account-data.ts'
import { queueMail } from '../../directory/mail/messages.ts'
import {
  createLink,
  findLastLink,
  type OneTimeLinks,
} from '../../directory/people/one-time-links.ts'
import { findSiteNames } from '../../directory/sites/site-choice.ts'
import type { VisitorForms } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { listSolelyOwned } from '../../school/members/site-roles.ts'
import { exportPerson } from '../../school/privacy/personal-data.ts'
import type { AccountPages } from './account-pages.ts'

export interface DataPorts {
  readonly links: OneTimeLinks
  readonly visitors: VisitorForms
}

/** The lifetime of the mailed link that confirms a deletion, in seconds. */
const LINK_SECONDS = 3600

/** Registers the pages on which people download their data and delete their account. */
export function dataRoutes(
  { database, now, page, freshForm }: AccountPages,
  { links, visitors }: DataPorts,
): void {
  const { kysely } = database

  page(pages.data, async ({ session, ctx }) => {
    const { id, email } = session.person
    const { browser } = visitors.enter(ctx)
    const link = await findLastLink(kysely, 'deletion', { browser, nowMs: now() })
    const nameOf = await findSiteNames(database, id)
    return dataPage({
      hrefs: pages,
      email,
      owned: (await listSolelyOwned(kysely, id)).map(nameOf),
      code: link?.personId === id ? links.codeOf(link) : undefined,
    })
  })
  freshForm(pages.downloadData, pages.data, async ({ actor, ctx }) => {
    ctx.body = await exportPerson(database, actor.personId, actor)
    ctx.type = 'json'
    const header = { 'Content-Disposition': 'attachment; filename="my-data.json"' }
    ctx.set({ ...header, 'Cache-Control': 'no-store' })
    return undefined
  })
  freshForm(pages.deleteAccount, pages.data, async ({ session, ctx }) => {
    const { id: personId, email } = session.person
    const { browser } = visitors.enter(ctx)
    const nowMs = now()
    await kysely.transaction().execute(async (trx) => {
      if ((await listSolelyOwned(trx, personId)).length > 0) return
      const earlier = trx.deleteFrom('one_time_link').where('person_id', '=', personId)
      await earlier.where('kind', '=', 'deletion').execute()
      const whose = { email, personId, browser, livesSeconds: LINK_SECONDS }
      const linkId = await createLink(trx, { kind: 'deletion', ...whose }, nowMs)
      const mail = { kind: 'deletion_requested', to: email, personId, linkId } as const
      await queueMail(trx, { ...mail, values: {} }, nowMs)
    })
    return pages.data
  })
}
