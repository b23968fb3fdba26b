/** Whom the suite's browser signs in: its claims are those of config/conformance.json besides. */
export const SUITE_LOGIN = 'sam@northlight.example'
