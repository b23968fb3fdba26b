import { readScope } from '../../directory/scopes/catalogue.ts'
import { operatorChange, operatorFind, operatorList, operatorTool } from './operator.ts'
import type { Tool } from './tool.ts'

const site = 'id slug name description contactEmail address timeZone language createdAt'
const order = `id number placedAt buyer { id name email } totalCents currency couponCode invoiceNumber
  refundedAt items { kind id title }`

/** The site itself, and what was sold. */
export const siteTools: readonly Tool[] = [
  operatorTool({
    name: 'get_site',
    title: 'The site',
    description: "Returns name and settings of the token's site.",
    scopes: [readScope('school')],
    document: `query { site { ${site} } }`,
    pick: ['site'],
  }),
  operatorChange({
    name: 'update_site',
    title: 'Change the site',
    description: "Changes name and settings of the token's site; what is left out stays.",
    area: 'school',
    field: 'updateSite',
    takes: { input: 'UpdateSiteInput!' },
    destroys: true,
  }),
  operatorList({
    name: 'list_site_orders',
    title: 'Orders of the site',
    description: "Lists the orders of the token's site, the latest first, with what was bought.",
    area: 'orders',
    list: 'orders',
    filters: { personId: 'ID', from: 'DateTime', until: 'DateTime', sort: 'TimeOrder' },
    nodes: order,
  }),
  operatorFind({
    name: 'get_site_order',
    title: 'An order of the site',
    description: "Returns one order of the token's site, by its id or its number.",
    areas: ['orders'],
    field: 'order',
    by: { id: 'ID', number: 'String' },
    selection: order,
  }),
]
