/** How many rows the next statement removes. */
export interface BatchSize {
  readonly rows: number
  /** A statement of this size took so long; `full` when there were as many rows to remove. */
  took(ms: number, full: boolean): void
  /** The database gave the statement up. False when it was for one row. */
  cancelled(): boolean
}

export interface BatchLimits {
  readonly rowsMax: number
  /** How long a statement should take at most. */
  readonly statementMs: number
}

/**
 * Follows the time that statements take: it begins small, doubles while a statement takes less than
 * half of its time, and halves when one takes longer. Only a cancelled statement makes it smaller
 * than at the beginning: where waiting for the disk takes the time, fewer rows would gain nothing.
 */
export function makeBatchSize({ rowsMax, statementMs }: BatchLimits): BatchSize {
  const first = Math.ceil(Math.sqrt(rowsMax))
  let rows = first
  return {
    get rows() {
      return rows
    },
    took(ms, full) {
      if (ms > statementMs) rows = Math.max(Math.min(first, rows), Math.floor(rows / 2))
      else if (full && ms < statementMs / 2) rows = Math.min(rowsMax, rows * 2)
    },
    cancelled() {
      if (rows === 1) return false
      rows = Math.floor(rows / 2)
      return true
    },
  }
}
