import {
  createPost,
  deletePost,
  findPost,
  listPosts,
  mustFindPost,
  type PostChanges,
  type PostCreation,
  type PostQuestion,
  publishPost,
  updatePost,
} from '../../school/posts/post-store.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'

interface PostListArguments extends PageArguments, Pick<PostQuestion, 'search' | 'published'> {}

/** The announcements of the site: `posts:read` and `posts:write`. */
export const postResolvers = {
  Query: {
    posts: async (_source, args: PostListArguments, context) => {
      const { search, published } = args
      const { siteId } = context.caller
      const list = listPosts(context.parts.database, { siteId, search, published })
      return await siteList({ named: ['posts', search, published], args, context, list })
    },
    post: async (_source, { id }: { id: string }, { caller, parts }) =>
      await findPost(parts.database.kysely, caller.siteId, id),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    createPost: async (_source, { input }: { input: PostCreation }, context) =>
      await postAfter(context, await createPost(context.parts.database, actorOf(context), input)),
    updatePost: async (_source, { input }: { input: PostChanges & { id: string } }, context) => {
      await updatePost(context.parts.database, actorOf(context), input)
      return await postAfter(context, input.id)
    },
    publishPost: async (_source, { id }: { id: string }, context) => {
      await publishPost(context.parts.database, actorOf(context), id)
      return await postAfter(context, id)
    },
    deletePost: async (_source, { id }: { id: string }, context) => {
      await deletePost(context.parts.database, actorOf(context), id)
      return { deletedId: id }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
}

async function postAfter({ caller, parts }: AdminContext, id: string) {
  return { id, post: async () => await mustFindPost(parts.database.kysely, caller.siteId, id) }
}
