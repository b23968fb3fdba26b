import { runTable } from './case.ts'
import { pageCases } from './page-cases.ts'

runTable(pageCases)
