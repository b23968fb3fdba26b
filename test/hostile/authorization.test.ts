import { authorizationCases } from './authorization-cases.ts'
import { runTable } from './case.ts'

// [RFC 6749 §3.3; RFC 8707 §2; OpenID Connect Core §3.1.2.3; OpenID Connect Core §3.1.2.6]
// [Authorization 4; Authorization 5.1; Authentication 5.2; Authentication 6.2; 21]
describe('refused authorization requests', () => runTable(authorizationCases))
