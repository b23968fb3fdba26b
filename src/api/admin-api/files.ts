import {
  deleteFile,
  findFile,
  findProductFile,
  listFiles,
  type ProductFile,
  setProductFile,
} from '../../school/files/stored-files.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'

interface FileListArguments extends PageArguments {
  readonly search?: string | null
}

type ProductFileArguments = Pick<ProductFile, 'productId'> & { readonly fileId?: string | null }

/** The files of the site, and which one a digital product has: `storage:write`, `digital_products:write`. */
export const fileResolvers = {
  Query: {
    files: async (_source, args: FileListArguments, context) => {
      const { search } = args
      const list = listFiles(context.parts.database, context.caller.siteId, search)
      return await siteList({ named: ['files', search], args, context, list })
    },
    file: async (_source, { id }: { id: string }, { caller, parts }) =>
      await findFile(parts.database.kysely, caller.siteId, id),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    deleteFile: async (_source, { id }: { id: string }, context) => {
      const { database, storage } = context.parts
      await deleteFile(database, actorOf(context), { id, storage })
      return { deletedId: id }
    },
    setDigitalProductFile: async (
      _source,
      { productId, fileId = null }: ProductFileArguments,
      context,
    ) => {
      const { database } = context.parts
      await setProductFile(database, actorOf(context), { productId, fileId })
      const file = async () =>
        (await findProductFile(database, context.caller.siteId, productId)) ?? null
      return { id: productId, file }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
}
