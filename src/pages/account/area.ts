import type { Context } from 'koa'

import type { AreaView } from '../../../views/area.ts'
import type { Page } from '../../../views/layout.ts'
import type { OpenedScopes } from '../../directory/scopes/opened.ts'
import { findLookOfPerson } from '../../directory/sites/find-look.ts'
import { siteLook } from '../../directory/sites/site-look.ts'
import { sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { SignedInPages } from '../relying-party/signed-in-pages.ts'

/** What the pages of a person's own account are given. */
export interface AccountPorts {
  readonly database: Database
  readonly signedInPages: SignedInPages
  readonly listPages: ListPages
  readonly opened: OpenedScopes
  readonly now: () => number
}

export function areaOf({ person, csrf }: PageSession, current: string): AreaView {
  const link = (href: string, label: string) => ({ href, label, current: href === current })
  return {
    name: 'Your account',
    links: [link(pages.account, 'Your account'), link(pages.apps, 'Connected apps')],
    signOutAction: pages.signOut,
    person,
    csrf,
  }
}

export interface OwnPage {
  readonly page: Page
  readonly session: PageSession
  readonly database: Database
}

/** Sends a page of somebody's account, which looks like the site of whoever belongs to one alone. */
export async function sendOwnPage(
  ctx: Context,
  { page, session, database }: OwnPage,
): Promise<void> {
  const look = await findLookOfPerson(database, session.person.id)
  sendPage(ctx, { ...page, look: siteLook(look) })
}
