import { runTable } from './case.ts'
import { grantCases } from './grant-cases.ts'

runTable(grantCases)
