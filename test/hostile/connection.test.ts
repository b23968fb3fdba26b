import { runTable } from './case.ts'
import { connectionCases } from './connection-cases.ts'

runTable(connectionCases)
