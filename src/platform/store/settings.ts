/** The setting that says when all sessions and grants ended, in epoch milliseconds. */
export const EVERYTHING_ENDED = 'everything_ended_at'
