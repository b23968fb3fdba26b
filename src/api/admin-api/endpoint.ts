/** Serves the Admin API over HTTP, and in-process for tools and pages. */

import { apiPage } from '../../../views/api-pages.ts'
import { inCode, text } from '../../../views/text.ts'
import type { ServicePolicy } from '../../config/config.ts'
import type { Oauth } from '../../oauth/oauth.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { reject, type Verdict } from '../../resource/resource-server/verify-bearer.ts'
import { makeUploadLinks, type UploadLinkPorts } from '../../school/files/upload-links.ts'
import { makeInvitations } from '../../school/members/invitations.ts'
import type { School } from '../../school/school.ts'
import { type EndpointPorts, graphqlEndpoint } from '../graphql/endpoint.ts'
import { adminCaller } from './context.ts'
import { schemaText } from './schema-text.ts'
import { runInTurn } from './site-queue.ts'
import { uploadLinkRoute } from './upload-link-route.ts'
import { type Admission, makeReceiveUpload, makeStoreFile, uploadRoute } from './upload-route.ts'

type AdminSchool = Pick<School, 'files' | 'webhooks'> & {
  readonly oauth: Pick<Oauth, 'grants' | 'findClientName'>
}

/**
 * Creates the endpoint of the Admin API (specification, Authentication 6; design 29), for GraphQL and file uploads. The
 * schema declares the scopes of each field. Verifying a token that has operator scopes also checks that the person is
 * still an operator of the site. The API is loaded at its first use, to keep start-up fast.
 */
export function adminEndpoint(
  ports: EndpointPorts,
  { adminApi, limits, files: uploadLimits }: ServicePolicy,
  { links }: Pick<UploadLinkPorts, 'links'>,
  { files, webhooks, oauth }: AdminSchool,
) {
  const { platform, cursors, discovery, baseUrl } = ports
  const { database, requestLimits, now } = platform
  const invitations = makeInvitations(limits.invitationsPerSiteAndDayMax)
  const { findClientName, grants } = oauth
  const { findGrant } = grants
  const uploadLinks = makeUploadLinks({ database, links, findGrant, baseUrl, now })
  const shared = { database, cursors, now, baseUrl }
  const parts = { ...shared, storage: files.storage, invitations, webhooks, uploadLinks }
  const admission: Pick<Admission, 'admit' | 'callerOf'> = {
    admit: requireSite,
    callerOf: (token, ctx) => adminCaller(token, callerOf(ctx)),
  }
  const { routes, protection, execute, tryQuery } = graphqlEndpoint(ports, {
    ...admission,
    load: async () => (await import('./admin-api.ts')).makeAdminApi(parts, adminApi),
    address: paths.adminGraphql,
    schemaAddress: paths.adminSchema,
    schemaText,
    page: apiPage('admin', baseUrl + paths.adminGraphql, [
      { href: paths.adminSchema, label: text('api.schema'), what: text('api.schemaWhat') },
      { href: paths.authMd, label: inCode('auth.md'), what: text('api.authMd') },
    ]),
    costLimit: { limits: requestLimits, name: 'adminApi', changes: 'changes' },
    resource: 'admin',
    askedScopes: () => discovery.scopesOf('mcpAdmin'),
  })
  const uploads = { files, limits: uploadLimits }
  const receive = makeReceiveUpload(platform, uploads)
  uploadRoute(routes, ports, receive, { ...admission, protection })
  const { fileBytesMax } = uploadLimits
  uploadLinkRoute(routes, { database, uploadLinks, receive, fileBytesMax, findClientName })
  const storeFile = makeStoreFile(platform, uploads)
  return { routes, executeAdmin: execute, tryQuery, storeFile, invitations, runInTurn }
}

/** Returns the verdict, or a refusal for a token without a site. Operator scopes are issued only for a site. */
function requireSite(verdict: Verdict): Verdict {
  if (verdict.kind !== 'granted' || verdict.token.siteId !== undefined) return verdict
  return reject('the token has no site')
}
