/** The person whom the suite's browser signs in. config/conformance.json adds claims to the account. */
export const SUITE_LOGIN = 'sam@northlight.example'
