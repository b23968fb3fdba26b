import { runTable } from './case.ts'
import { clientEndpointCases } from './client-endpoint-cases.ts'

// [RFC 6749 §2.3; RFC 6749 §2.3.1; RFC 6749 §3.2; RFC 6749 §3.2.1; RFC 9700 §2.5; OpenID Connect Core §3.1.3.1]
// [Token 1; Token 2.3; Authentication 2; threat 11; 51, 53, 65]
describe('client authentication and forms', () => runTable(clientEndpointCases))
