import {
  createPost,
  deletePost,
  findPost,
  listPosts,
  mustFindPost,
  publishPost,
  updatePost,
} from '../../school/posts/post-store.ts'
import {
  byId,
  changes,
  creates,
  deletes,
  listed,
  payloadWith,
  updates,
} from './resolver-factories.ts'

const payload = payloadWith('post', mustFindPost)

/** Resolvers for the site's announcements (scopes `posts:read` and `posts:write`). */
export const postResolvers = {
  Query: { posts: listed('posts', listPosts), post: byId(findPost) },
  Mutation: {
    createPost: creates(createPost, payload),
    updatePost: updates(updatePost, payload),
    publishPost: changes(publishPost, payload),
    deletePost: deletes(deletePost),
  },
}
