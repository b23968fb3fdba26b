import { siteLanguages } from '../../../views/text.ts'
import {
  FACTOR_RESET,
  hasFeature,
  SELF_SIGN_UP,
  type SiteFeature,
} from '../../directory/sites/site-admin.ts'
import { findLook, type Look, logoAddress } from '../../directory/sites/site-look.ts'
import { type AppearanceChanges, updateAppearance } from '../../school/settings/appearance.ts'
import {
  readSiteRecord,
  type SiteChanges,
  switchSiteFeature,
  updateSiteRecord,
} from '../../school/settings/site-record.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'

/** Resolvers for settings of the site (scopes `school:read` and `school:write`). */
export const siteResolvers = {
  Query: {
    site: async (_source, _args, context) => await readOwnSite(context),
  } satisfies Record<string, AdminResolver<undefined>>,
  Mutation: {
    updateSite: async (_source, { input }: { input: SiteChanges }, context) => {
      await updateSiteRecord(context.parts.database, actorOf(context), input)
      return { id: context.caller.siteId, site: async () => await readOwnSite(context) }
    },
    setSelfSignUp: switchTo(SELF_SIGN_UP),
    setFactorReset: switchTo(FACTOR_RESET),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Site: {
    languages: ({ languages }) => siteLanguages(JSON.parse(languages)),
    selfSignUp: async (_source, _args, { caller, parts }) =>
      await hasFeature(parts.database, caller.siteId, SELF_SIGN_UP),
    factorReset: async (_source, _args, { caller, parts }) =>
      await hasFeature(parts.database, caller.siteId, FACTOR_RESET),
  } satisfies Record<string, AdminResolver<{ readonly languages: string }>>,
}

function switchTo(feature: SiteFeature): AdminResolver<undefined, { isEnabled: boolean }> {
  return async (_source, { isEnabled: on }, context) => {
    await switchSiteFeature(context.parts.database, actorOf(context), { feature, on })
    return { id: context.caller.siteId, site: async () => await readOwnSite(context) }
  }
}

async function readOwnSite({ caller, parts }: AdminContext) {
  return await readSiteRecord(parts.database, caller.siteId)
}

/** Resolvers for the site's appearance (scopes `appearance:read` and `appearance:write`). */
export const appearanceResolvers = {
  Query: {
    appearance: async (_source, _args, context) => await appearanceOf(context),
  } satisfies Record<string, AdminResolver<undefined>>,
  Mutation: {
    updateAppearance: async (_source, { input }: { input: AppearanceChanges }, context) => {
      await updateAppearance(context.parts.database, actorOf(context), input)
      return { id: context.caller.siteId, appearance: async () => await appearanceOf(context) }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Appearance: {
    logoPath: ({ logoDigest }, _args, { caller }) => logoAddress(caller.siteId, logoDigest),
  } satisfies Record<string, AdminResolver<Look>>,
}

async function appearanceOf({ caller, parts }: AdminContext) {
  return await findLook(parts.database, caller.siteId)
}
