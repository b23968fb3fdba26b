/** The tables of connections and sessions; `schema.ts` has the rules that they follow too. */

interface ConnectionTable {
  grant_id: string
  person_id: string
  client_id: string
  client_name: string
  client_origin: string
  site_id: string | null
  granted_at: number
  expires_at: number
  last_used_at: number | null
}

interface ConnectionScopeTable {
  grant_id: string
  scope: string
}

interface ConnectionDayTable {
  grant_id: string
  day: number
  calls: number
}

interface SignedOutEverywhereTable {
  person_id: string
  signed_out_at: number
}

interface ClientRefusalTable {
  id: string
  client_id: string
  occurred_at: number
  route: string
  error: string
  reason: string | null
  request_id: string
}

export interface ConnectionTables {
  connection: ConnectionTable
  connection_scope: ConnectionScopeTable
  connection_day: ConnectionDayTable
  signed_out_everywhere: SignedOutEverywhereTable
  client_refusal: ClientRefusalTable
}
