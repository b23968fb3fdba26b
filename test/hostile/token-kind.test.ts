import { runTable } from './case.ts'
import { tokenKindCases } from './token-kind-cases.ts'

describe('access tokens sent in a wrong way [165]', () => runTable(tokenKindCases))
