import { olivia } from '../support/gatehouse.ts'
import { makePagePerson, textOf } from '../support/page-person.ts'
import type { Agent } from './client-table.ts'

const applications = '/admin/northlight/applications'

/** An operator of the demo makes an application for a client of members, as the form has them do. */
export async function makeApplication(serviceUrl: string, agent: Agent): Promise<string> {
  const operator = makePagePerson(serviceUrl, olivia)
  const page = await operator.send(await operator.visit(`${applications}/new`), applications, {
    name: agent.name,
    redirect_uris: agent.callback,
    auth_method: 'none',
    scope: ['account:read', 'account:write'],
  })
  const clientId = textOf(page, 'client-id')
  if (clientId === '') throw new Error(`the operator could not make an application: ${page.path}`)
  return clientId
}
