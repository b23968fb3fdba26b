import type { AreaView } from '../../../views/area.ts'
import type { Page } from '../../../views/layout.ts'
import type { OpenedScopes } from '../../directory/scopes/opened.ts'
import { findLookOfPerson, siteLook } from '../../directory/sites/site-look.ts'
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

/** A page of an account. It has the look of the site if the person belongs to one site alone. */
export async function ownPage(
  page: Page,
  { person }: PageSession,
  database: Database,
): Promise<Page> {
  return { ...page, look: siteLook(await findLookOfPerson(database, person.id)) }
}
