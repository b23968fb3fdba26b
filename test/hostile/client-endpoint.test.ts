import { runTable } from './case.ts'
import { clientEndpointCases } from './client-endpoint-cases.ts'

runTable(clientEndpointCases)
