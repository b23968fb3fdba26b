import type { Explained, NotSignedIn } from './authenticate.ts'

export function explainFailure(outcome: NotSignedIn): Explained {
  if (outcome.kind === 'provider') return outcome
  if (outcome.kind === 'refused') {
    const { why: reason } = outcome
    return { status: 401, problem: problems[reason] ?? WRONG_PASSWORD, reason }
  }
  if (outcome.kind !== 'limited') return failures[outcome.kind]
  const minutes = Math.ceil(outcome.waitSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  const problem = `Too many attempts. Please wait ${wait} and try again.`
  return { status: 429, problem, reason: 'too many attempts' }
}

const WRONG_PASSWORD = 'The e-mail address or password is incorrect. Please try again.'
const INVALID_PASSKEY = 'This passkey is not valid here. Please try another way.'

const problems: Readonly<Record<string, string>> = {
  'wrong second factor':
    'This code is incorrect, or was used before. Please enter the code that is shown now.',
  'other way needed':
    'This site accepts only sign-ins of its own identity provider, for the same e-mail address. Please sign in below.',
  'unknown passkey': INVALID_PASSKEY,
  'invalid passkey response': INVALID_PASSKEY,
  'stale passkey': INVALID_PASSKEY,
  'passkey of a disabled account': INVALID_PASSKEY,
  'copied passkey':
    'This passkey is locked, because a copy of it was used. Please try another way.',
  'unverified passkey':
    'Your account needs a passkey that asks for your PIN, fingerprint or face. This one did not. Please try another way.',
}

const failures = {
  busy: {
    status: 503,
    problem: 'Many people are signing in at the moment. Please try again in a few seconds.',
    reason: 'too many sign-ins at once',
  },
  unavailable: {
    status: 503,
    problem: 'Passwords cannot be checked at the moment. Please try again in a few minutes.',
    reason: 'the platform did not check the password',
  },
}
