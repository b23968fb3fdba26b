import type { AreaView } from '../../views/area.ts'
import { pages } from '../http/page-paths.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { SignedInPages } from '../relying-party/signed-in-pages.ts'
import type { Database } from '../store/database.ts'
import type { StateStore } from '../store/state.ts'

/** What the pages of a person's own account are given. */
export interface AccountPorts {
  readonly database: Database
  readonly state: StateStore
  readonly signedInPages: SignedInPages
  readonly now: () => number
}

export const addresses = {
  home: pages.account,
  apps: `${pages.account}/apps`,
  remove: `${pages.account}/apps/remove`,
  signOutEverywhere: `${pages.account}/sign-out-everywhere`,
  signedOutEverywhere: `${pages.account}/signed-out-everywhere`,
} as const

export function areaOf({ person, csrf }: PageSession, current: string): AreaView {
  const link = (href: string, label: string) => ({ href, label, current: href === current })
  return {
    name: 'Your account',
    links: [link(addresses.home, 'Your account'), link(addresses.apps, 'Connected apps')],
    person,
    csrf,
  }
}
