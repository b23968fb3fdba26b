import { runTable } from './case.ts'
import { tokenKindCases } from './token-kind-cases.ts'

runTable(tokenKindCases)
