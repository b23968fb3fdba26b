import { createLink, type OneTimeLinks, useLink } from '../../directory/people/one-time-links.ts'
import { writeScope } from '../../directory/scopes/catalogue.ts'
import { type FindGrant, judgeAccess } from '../../oauth/grants/judge-access.ts'
import { uploadLinkGone } from '../../platform/http/errors.ts'
import { addressOf, linkPages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import { changeSite, type SiteActor } from '../changes/change.ts'
import type { FilePurpose } from './file-kinds.ts'

const LINK_SECONDS = 600

export type UploadLinks = ReturnType<typeof makeUploadLinks>
export type UploadLink = NonNullable<Awaited<ReturnType<UploadLinks['find']>>>

export interface UploadLinkPorts {
  readonly database: Database
  readonly links: Pick<OneTimeLinks, 'find' | 'tokenOf'>
  readonly findGrant: FindGrant
  readonly baseUrl: string
  readonly now: () => number
}

/** What a link is bound to, in addition to its site and person. Links from our own pages have no `grantId`. */
interface Binding {
  readonly purpose: FilePurpose
  readonly clientId: string
  readonly grantId?: string | undefined
}

/** Creates the functions for upload links. A link needs no sign-in, and its URL allows one upload (decision 23). */
export function makeUploadLinks({ database, links, findGrant, baseUrl, now }: UploadLinkPorts) {
  return {
    /** Creates a link, and records an audit event. @throws ChangeRefused if the actor is no longer an operator */
    create: async (actor: SiteActor, binding: Binding) =>
      await changeSite(database, actor, async ({ trx, record }) => {
        const { siteId, personId } = actor
        const person = trx.selectFrom('person').select('email').where('id', '=', personId)
        const { email } = await person.executeTakeFirstOrThrow()
        const [nowMs, data] = [now(), JSON.stringify(binding)]
        const link = { kind: 'upload', email, personId, siteId, data } as const
        const id = await createLink(trx, { ...link, livesSeconds: LINK_SECONDS }, nowMs)
        const after = { id, purpose: binding.purpose }
        record('upload_link.create', { kind: 'site', id: siteId }, { after })
        const token = links.tokenOf({ kind: 'upload', id })
        const url = baseUrl + addressOf(linkPages.upload, { token })
        return { url, expiresAt: nowMs + LINK_SECONDS * 1000 }
      }),

    /** Finds a valid link. @returns undefined if it was used or has expired, or if its client lost access */
    async find(token: string) {
      const link = await links.find(database.kysely, 'upload', { token, nowMs: now() })
      if (!link) return undefined
      const { purpose, clientId, grantId }: Binding = JSON.parse(String(link.data))
      const facts = grantId === undefined ? undefined : await findGrant({ grantId })
      if (grantId && judgeAccess(facts, [writeScope('storage')], now())) return undefined
      const spend = async (trx: Database['kysely']) => {
        if (await useLink(trx, link, now())) return { uploadLink: link.id }
        throw uploadLinkGone()
      }
      const owner = { siteId: String(link.siteId), personId: String(link.personId), clientId }
      return { ...owner, purpose, spend }
    },
  }
}
