import { runTable } from './case.ts'
import { registrationCases } from './registration-cases.ts'

// [RFC 7591 §2.1; RFC 7591 §3.2.2; RFC 7591 §5; MCP Authorization §Application Type and
// Redirect URI Constraints; Client registration 2; Client registration 3.1; Client registration
// 4; Errors 2.1; Errors 2.2; 9, 91]
describe('registration', () => runTable(registrationCases))
