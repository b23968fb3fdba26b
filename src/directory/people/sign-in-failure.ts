import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import type { Explained, NotSignedIn } from './authenticate.ts'

export function explainFailure(outcome: NotSignedIn): Explained {
  if (outcome.kind === 'provider') return outcome
  if (outcome.kind === 'refused') {
    const { why: reason } = outcome
    return { status: 401, problem: problems[reason] ?? WRONG_PASSWORD, reason }
  }
  if (outcome.kind !== 'limited') return failures[outcome.kind]
  const minutes = Math.ceil(outcome.waitSeconds / 60)
  const problem = text('failure.limited', { minutes })
  return { status: 429, problem, reason: 'too many attempts' }
}

const WRONG_PASSWORD = text('failure.password')
const INVALID_PASSKEY = text('failure.passkey')

const problems: Readonly<Record<string, Html>> = {
  'wrong second factor': text('failure.code'),
  'other way needed': text('failure.otherWay'),
  'unknown passkey': INVALID_PASSKEY,
  'invalid passkey response': INVALID_PASSKEY,
  'stale passkey': INVALID_PASSKEY,
  'passkey of a disabled account': INVALID_PASSKEY,
  'copied passkey': text('failure.copied'),
  'unverified passkey': text('failure.unverified'),
}

const failures = {
  busy: {
    status: 503,
    problem: text('failure.busy'),
    reason: 'too many sign-ins at once',
  },
  unavailable: {
    status: 503,
    problem: text('failure.unavailable'),
    reason: 'the platform did not check the password',
  },
}
