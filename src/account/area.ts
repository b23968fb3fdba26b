import type { AreaView } from '../../views/area.ts'
import { pages } from '../http/paths.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { SignedInPages } from '../relying-party/signed-in-pages.ts'
import type { OpenedScopes } from '../scopes/opened.ts'
import type { Database } from '../store/database.ts'

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
