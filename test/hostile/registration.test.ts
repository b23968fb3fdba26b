import { runTable } from './case.ts'
import { registrationCases } from './registration-cases.ts'

runTable(registrationCases)
