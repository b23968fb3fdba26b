import { runTable } from './case.ts'
import { toolCases } from './tool-cases.ts'

runTable(toolCases)
