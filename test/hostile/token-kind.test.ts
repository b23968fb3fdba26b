import { runTable } from './case.ts'
import { tokenKindCases } from './token-kind-cases.ts'

// [165]
describe('access tokens sent in a wrong way', () => runTable(tokenKindCases))
