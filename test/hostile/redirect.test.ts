import { runTable } from './case.ts'
import { redirectCases } from './redirect-cases.ts'

runTable(redirectCases)
