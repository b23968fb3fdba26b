import { expect } from 'chai'

/** Expects a status, and a text that includes all these parts. */
export function expectAnswer(
  { status, text }: { readonly status: number; readonly text: string },
  expected: number,
  ...parts: readonly string[]
): void {
  expect(status, text).to.equal(expected)
  for (const part of parts) expect(text).to.include(part)
}
