import { z } from 'zod'

/** A host as a URL has it, with its port where that is another than 443. */
const host = z
  .string()
  .refine((value) => URL.parse(`https://${value}/`)?.host === value, 'must be a host or host:port')

/** What is on besides what everybody gets (oauth/clients/further-plans.ts); nothing, where it is left out. */
export const furtherPlans = z
  .strictObject({
    backChannelLogout: z.boolean().default(false),
    pushedAuthorizationRequests: z.boolean().default(false),
    dpop: z.boolean().default(false),
    privateKeyJwt: z.boolean().default(false),
    privateHosts: z.array(host).max(100).default([]),
  })
  .prefault({})
