import { expect } from 'chai'

import {
  type Decision,
  decideReview,
  type ReviewState,
} from '../src/directory/sites/review-policy.ts'

const now = 'as it is'
const approved: Decision = { review: 'approved', fingerprint: now }
const stale: Decision = { review: 'approved', fingerprint: 'as it was' }
const blocked: Decision = { review: 'blocked', fingerprint: 'as it was' }
const none = undefined

// What people with the platform's role decided, what the site's operators did, and what counts there.
const table: readonly [Decision | undefined, Decision | undefined, ReviewState][] = [
  [none, none, 'unreviewed'],
  [none, approved, 'approved'],
  [none, stale, 'changed'],
  [none, blocked, 'blocked'],
  [approved, none, 'approved'],
  [approved, approved, 'approved'],
  [approved, stale, 'approved'],
  [approved, blocked, 'blocked'],
  [stale, none, 'changed'],
  [stale, approved, 'approved'],
  [stale, stale, 'changed'],
  [stale, blocked, 'blocked'],
  [blocked, none, 'blocked'],
  [blocked, approved, 'blocked'],
  [blocked, stale, 'blocked'],
  [blocked, blocked, 'blocked'],
]

describe('what counts of the reviews of a metadata document [design 31]', () => {
  for (const [platform, site, state] of table) {
    const said = (decision: Decision | undefined) =>
      decision ? `${decision.review} ${decision.fingerprint}` : 'silent'
    it(`is ${state} where the platform is ${said(platform)} and the site ${said(site)}`, () => {
      expect(decideReview({ platform, site }, now)).to.equal(state)
    })
  }
})
