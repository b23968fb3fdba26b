import { apiCases } from './api-cases.ts'
import { runTable } from './case.ts'

runTable(apiCases)
