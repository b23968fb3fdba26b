/** How what a client proves may be signed (FAPI 2.0 Security Profile §5.4.1); never with a shared secret. */
export const proofAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const

/** So far the clock of a client may be from ours. */
export const CLOCK_TOLERANCE_SECONDS = 15
