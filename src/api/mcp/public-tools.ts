import { z } from 'zod'

import { paths } from '../../platform/http/paths.ts'
import { protocolVersions } from './protocol-versions.ts'
import { defineTool, type Tool } from './tool.ts'

const everybody = { kind: 'public' } as const

/** What the service says of itself. */
export const publicTools: readonly Tool[] = [
  defineTool({
    name: 'get_service_info',
    title: 'Service information',
    description:
      'Says what this service is, where its documents and addresses are, and which protocol revisions ' +
      'it speaks. Works without a token.',
    access: everybody,
    input: z.strictObject({}),
    output: z.strictObject({
      name: z.string(),
      version: z.string(),
      issuer: z.string().describe('The issuer of access tokens and the origin of every address.'),
      authorizationGuide: z.string().describe('Address of the walkthrough to a token.'),
      authorizationServerMetadata: z.string(),
      protectedResourceMetadata: z.string(),
      openApi: z.string(),
      memberApi: z.string().describe('Address of the GraphQL API that takes the same token.'),
      protocolVersions: z.array(z.string()),
    }),
    run: async (_none, { parts }) => {
      const { name, version, baseUrl } = parts.service
      return {
        name,
        version,
        issuer: baseUrl,
        authorizationGuide: baseUrl + paths.authMd,
        authorizationServerMetadata: baseUrl + paths.authorizationServer,
        protectedResourceMetadata: baseUrl + paths.protectedResource + paths.mcp,
        openApi: baseUrl + paths.openApi,
        memberApi: baseUrl + paths.graphql,
        protocolVersions: [...protocolVersions],
      }
    },
  }),
  defineTool({
    name: 'get_auth_guide',
    title: 'Authorization guide',
    description:
      'Returns in short, as Markdown, how an assistant, a program or a person gets a token here, with ' +
      'links to the rest. Works without a token.',
    access: everybody,
    input: z.strictObject({}),
    output: z.string().describe('Markdown.'),
    run: async (_none, { parts }) => parts.authGuide(),
  }),
]
