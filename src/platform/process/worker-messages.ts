import { z } from 'zod'

/** What a worker tells the primary, once. */
export type WorkerNews = z.infer<typeof workerNews>

const workerNews = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ready'),
    demoPeople: z.array(z.object({ login: z.string(), password: z.string(), what: z.string() })),
  }),
  /** It could not start, and ends. */
  z.object({ kind: z.literal('failed'), reason: z.string() }),
])

/** The counting of limits speaks on the same channel; what is not ours is undefined. */
export function readWorkerNews(message: unknown): WorkerNews | undefined {
  return workerNews.safeParse(message).data
}

/**
 * What the primary tells a worker: to do the work of which one process of a host is enough, or to
 * hand its connections over and end. A signal asks it to stop.
 */
export type WorkerOrder = 'sweep' | 'hand over'
