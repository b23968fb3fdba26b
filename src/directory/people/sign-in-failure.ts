import type { NotSignedIn } from './authenticate.ts'

/** Returns the status and sentence for the page of a failed sign-in, and the reason for the audit trail. */
export function explainFailure(outcome: NotSignedIn) {
  if (outcome.kind === 'refused') {
    const problem = outcome.why === 'wrong second factor' ? WRONG_CODE : refused.problem
    return { ...refused, problem, reason: outcome.why }
  }
  if (outcome.kind !== 'limited') return failures[outcome.kind]
  const minutes = Math.ceil(outcome.waitSeconds / 60)
  const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`
  const problem = `Too many attempts. Please wait ${wait} and try again.`
  return { status: 429, problem, reason: 'too many attempts' }
}

const WRONG_CODE =
  'This code is incorrect, or was used before. Please enter the code that is shown now.'

const refused = {
  status: 401,
  problem: 'The e-mail address or password is incorrect. Please try again.',
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
