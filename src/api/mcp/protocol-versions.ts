/** The revisions of the protocol that the endpoint speaks, the newest first (design 23). */
export const protocolVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'] as const
