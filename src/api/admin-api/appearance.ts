import { logoAddress } from '../../directory/sites/site-look.ts'
import {
  type Appearance,
  type AppearanceChanges,
  findAppearance,
  updateAppearance,
} from '../../school/site/appearance.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'

/** How the site looks to its people: `appearance:read` and `appearance:write`. */
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
  } satisfies Record<string, AdminResolver<Appearance>>,
}

async function appearanceOf({ caller, parts }: AdminContext) {
  return await findAppearance(parts.database, caller.siteId)
}
