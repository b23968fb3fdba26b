import { runTable } from './case.ts'
import { grantCases } from './grant-cases.ts'

// [RFC 6749 §4.1.3; RFC 6749 §6; RFC 6749 §10.4; RFC 6749 §10.6; RFC 7636 §4.1; RFC 7636 §4.4; RFC 7636 §4.5]
// [RFC 7636 §4.6; RFC 8707 §2.2; RFC 9700 §4.3.1; RFC 9700 §4.14.2; OpenID Connect Core §12.1; Authorization 5.3]
// [Token 2.2; Authentication 5.2; class wrong client; 55, 59, 61, 67]
describe('bindings of codes and refresh tokens', () => runTable(grantCases))
