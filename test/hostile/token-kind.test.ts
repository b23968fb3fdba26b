import { runTable } from './case.ts'
import { tokenKindCases } from './token-kind-cases.ts'

// [MCP Authorization §Token Handling; MCP Authorization §Token Audience Binding and Validation]
// [MCP Authorization §Access Token Privilege Restriction; MCP Authorization §Token Requirements; 113]
// [Errors 4.1; RFC 6749 §7; RFC 6749 §10.3; RFC 6749 §10.10; RFC 6750 §3.1; RFC 6750 §5.2; RFC 7662 §2.2; RFC 7662 §4]
describe('access tokens sent in a wrong way [165]', () => runTable(tokenKindCases))
