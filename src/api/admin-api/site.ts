import {
  findSiteRecord,
  type SiteChanges,
  updateSiteRecord,
} from '../../school/site/site-record.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'

/** The site itself: `school:read` and `school:write`. */
export const siteResolvers = {
  Query: {
    site: async (_source, _args, context) => await siteOf(context),
  } satisfies Record<string, AdminResolver<undefined>>,
  Mutation: {
    updateSite: async (_source, { input }: { input: SiteChanges }, context) => {
      await updateSiteRecord(context.parts.database, actorOf(context), input)
      return { id: context.caller.siteId, site: async () => await siteOf(context) }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
}

async function siteOf({ caller, parts }: AdminContext) {
  const site = await findSiteRecord(parts.database, caller.siteId)
  if (!site) throw new Error('the site of a good token is not there')
  return site
}
