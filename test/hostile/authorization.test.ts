import { authorizationCases } from './authorization-cases.ts'
import { runTable } from './case.ts'

runTable(authorizationCases)
