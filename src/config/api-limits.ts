import { z } from 'zod'

/** How large a document of a GraphQL API may be. */
export const apiLimits = z.strictObject({
  bodyBytesMax: z.int().min(1000).max(1_000_000),
  documentTokensMax: z.int().min(500).max(10_000),
  depthMax: z.int().min(6).max(20),
  nestingMax: z.int().min(20).max(200),
  fieldsMax: z.int().min(100).max(1000),
  aliasesMax: z.int().min(1).max(100),
  directivesMax: z.int().min(1).max(100),
  costMax: z.int().min(1000).max(100_000),
  cachedDocumentsMax: z.int().min(1).max(10_000),
  cachedDocumentCharactersMax: z.int().min(1).max(20_000),
  cachedCharactersMax: z.int().min(1).max(10_000_000),
})
