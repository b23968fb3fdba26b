import type { JSONWebKeySet } from 'jose'
import type { Context, Middleware } from 'koa'

import type { Config } from '../../config/config.ts'
import { makeUseOnce, verifyOnce } from '../../oauth/clients/proofs.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import {
  invalidAssertion,
  methodNotAllowed,
  tooManyRecords,
  unsupportedBody,
} from '../../platform/http/errors.ts'
import { planPaths } from '../../platform/http/paths.ts'
import { readRequestBody } from '../../platform/http/request-body.ts'
import { nameRoute, requestIdOf } from '../../platform/http/request-log.ts'
import { answerUncached } from '../../platform/http/router.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import type { Platform } from '../../platform/platform.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { importLines, type LineResult } from './import-records.ts'
import { readLines } from './import-sources.ts'

export const RECORDS_MAX = 1000
export const RECORDS_BYTES_MAX = 4 * 1024 * 1024
const JWT_SECONDS_MAX = 60

const MEDIA_TYPE = 'application/x-ndjson'

/**
 * Creates the route to which the platform sends records to import (docs/how-to/import.md). The platform signs each
 * request with a configured key, because client credentials grants are unsupported (design 25). Records that equal
 * the stored ones change nothing, so a request can be repeated.
 */
export function recordsRoute(
  { service: { platformKeys }, baseUrl, firebaseSignerKey }: Config,
  platform: Platform,
): Middleware {
  if (platformKeys === null) return (_ctx, next) => next()
  const { database, requestLimits, now } = platform
  const readSigned = makeReadSigned(platformKeys as JSONWebKeySet, baseUrl, platform)

  const answer = async (ctx: Context): Promise<void> => {
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      throw methodNotAllowed('POST')
    }
    const body = await readSigned(ctx)
    const lines = await Array.fromAsync(readLines(() => [body]))
    if (lines.length > RECORDS_MAX) throw tooManyRecords(RECORDS_MAX)
    refuseTooMany(ctx, requestLimits.take('platformRecords', 'platform', lines.length))
    const results: LineResult[] = []
    const { written } = await importLines({
      ...{ database, firebaseSignerKey, now, emitsEvents: true },
      sources: [{ name: planPaths.records, size: 0, lines }],
      onLine: (result) => results.push(result),
    })
    if (results.some(({ changed }) => changed)) {
      const actor = { now: now(), requestId: requestIdOf(ctx) }
      const subject = { kind: 'campus', id: planPaths.records }
      const change = { subject, siteId: undefined, after: written }
      await recordAuditEvent(database.kysely, actor, { action: 'campus.imported', ...change })
    }
    results.sort((a, b) => a.line - b.line)
    ctx.body = { results: results.map((each) => ({ ok: each.error === undefined, ...each })) }
  }

  return async (ctx, next) => {
    if (ctx.path !== planPaths.records) return await next()
    nameRoute(ctx, planPaths.records)
    await answerUncached(ctx, answer)
  }
}

/**
 * Creates the function that authenticates a request and returns its body. It reads the body only after verifying the
 * signature, so unauthenticated callers cannot exhaust memory. It marks the JWT as used if the body's digest matches.
 */
function makeReadSigned(keys: JSONWebKeySet, baseUrl: string, platform: Platform) {
  const { now } = platform
  const useOnce = makeUseOnce(platform)
  const claims = {
    audience: baseUrl + planPaths.records,
    typ: 'records+jwt',
    maxTokenAge: JWT_SECONDS_MAX,
  }
  return async (ctx: Context): Promise<Buffer> => {
    const header = ctx.req.headersDistinct['authorization']?.join() ?? ''
    const [, jwt] = /^Bearer ([\w.-]+)$/i.exec(header) ?? []
    let body: Buffer = Buffer.alloc(0)
    const check = async ({ exp = 0, iat = 0, ...payload }: Readonly<Record<string, unknown>>) => {
      if (Number(exp) - Number(iat) > JWT_SECONDS_MAX)
        return `the assertion is valid for more than ${JWT_SECONDS_MAX} seconds`
      if (ctx.request.type !== MEDIA_TYPE) throw unsupportedBody(MEDIA_TYPE)
      body = await readRequestBody(ctx, RECORDS_BYTES_MAX)
      return payload['body_sha256'] === sha256(body)
        ? undefined
        : 'the body_sha256 of the assertion is not the base64url SHA-256 digest of the body'
    }
    const whose = planPaths.records
    const problem = jwt
      ? await verifyOnce(jwt, { keys, claims, whose, check, useOnce, now })
      : 'the Authorization header must be Bearer followed by a JWT from the platform'
    if (problem === undefined) return body
    ctx.set('WWW-Authenticate', 'Bearer error="invalid_token"')
    throw invalidAssertion(problem)
  }
}
