/** An Argon2id hash in the one form that is read here: version 1.3, the cost, the salt and the hash. */
const form =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,9}),t=([1-9]\d{0,9}),p=([1-9]\d{0,3})\$([\w+/]{11,86})\$([\w+/]{22,86})$/

/** As much memory as a check may take, in KiB; it takes it once for each that runs at the same time. */
const MEMORY_KIB_MAX = 262_144
/** Memory times passes, which is what a check costs; other programs' defaults take a quarter of it. */
const WORK_KIB_MAX = 1_048_576
const LANES_MAX = 16

/**
 * What is wrong with a password hash that was made elsewhere, as the end of a sentence; nothing when
 * passwords can be checked against it at a price that a sign-in may have.
 */
export function problemOfPasswordHash(text: string): string | undefined {
  const [, memory = '', passes = '', lanes = '', ...encoded] = form.exec(text) ?? []
  if (memory === '' || !encoded.every(isBase64)) {
    return 'must be an Argon2id hash, as $argon2id$v=19$m=19456,t=2,p=1$salt$hash'
  }
  const [memoryKib, laneCount] = [Number(memory), Number(lanes)]
  const isCheap =
    memoryKib >= 8 * laneCount &&
    memoryKib <= MEMORY_KIB_MAX &&
    memoryKib * Number(passes) <= WORK_KIB_MAX &&
    laneCount <= LANES_MAX
  if (isCheap) return undefined
  return `must be an Argon2id hash of p=${LANES_MAX}, m=${MEMORY_KIB_MAX} and m times t=${WORK_KIB_MAX} at most, or each sign-in would cost too much`
}

/** Whether the bits after the last byte are none, without which the hash cannot be read. */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text
}
