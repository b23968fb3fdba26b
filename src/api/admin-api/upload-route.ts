import type { Context } from 'koa'
import type Router from 'koa-router'

import { writeScope } from '../../directory/scopes/catalogue.ts'
import { openCors } from '../../platform/http/cors.ts'
import {
  badUpload,
  bodyTooLarge,
  methodNotAllowed,
  noRoomForFile,
  notAnOperator,
  tooManyRequests,
} from '../../platform/http/errors.ts'
import { paths } from '../../platform/http/paths.ts'
import { type Limits, personKey } from '../../platform/limits/limits.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import type { Database } from '../../platform/store/database.ts'
import { type Protection, refuse, verdictOf } from '../../resource/resource-server/protect.ts'
import {
  demandScopes,
  type Granted,
  type Verdict,
  type VerifyBearer,
} from '../../resource/resource-server/verify-bearer.ts'
import type { SiteActor } from '../../school/changes/change.ts'
import { ChangeRefused } from '../../school/changes/refusals.ts'
import type { Files } from '../../school/files/file-storage.ts'
import { receiveFile, type UploadLimits } from '../../school/files/receive-file.ts'
import type { AdminCaller } from './context.ts'

export interface UploadPorts {
  readonly database: Database
  readonly files: Files
  readonly limits: UploadLimits
  readonly verifyBearer: VerifyBearer
  readonly requestLimits: Limits
  readonly now: () => number
}

/** How the Admin API admits a request, and who then asks. */
export interface Admission {
  readonly protection: Protection
  readonly admit: (verdict: Verdict) => Verdict
  readonly callerOf: (token: Granted['token'], ctx: Context) => AdminCaller
}

/**
 * POST /admin/files: one file as the body, its name in the query. GraphQL has no way to send bytes
 * that does not hold them in memory, so this one change of a site has an address of its own.
 */
export function uploadRoute(router: Router, ports: UploadPorts, admission: Admission): void {
  const scope = writeScope('storage')
  const protection = { ...admission.protection, scopes: [scope] }
  router.all(paths.adminFiles, openCors(['POST']), async (ctx) => {
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      throw methodNotAllowed('POST')
    }
    ctx.set('Cache-Control', 'no-store')
    const verdict = demandScopes(admission.admit(await verdictOf(ctx, ports.verifyBearer)), [scope])
    if (verdict.kind !== 'granted') return await refuse(ctx, verdict, protection)
    refuseTooMany(ctx, ports.requestLimits.take('uploads', personKey(verdict.token)))
    const caller = admission.callerOf(verdict.token, ctx)
    using _place = takePlace(ctx, caller.siteId)
    try {
      const { file, isNew } = await receive(ctx, { ...caller, now: ports.now() }, ports)
      ctx.status = isNew ? 201 : 200
      const { id, name, mediaType, sizeBytes, sha256 } = file
      ctx.body = { id, name, mediaType, sizeBytes, sha256 }
    } catch (error) {
      throw error instanceof ChangeRefused ? inHttp(error) : error
    }
  })
}

/**
 * So many files of a site are on their way to a process at once. Each is on the disk until it is known
 * whether the site has room for it, however slowly it comes.
 */
const UPLOADS_AT_ONCE_MAX = 16
const RETRY_AFTER_SECONDS = '5'

/** How many of each site there are now. */
const underWay = new Map<string, number>()

/** @throws tooManyRequests */
function takePlace(ctx: Context, siteId: string): Disposable {
  const others = underWay.get(siteId) ?? 0
  if (others >= UPLOADS_AT_ONCE_MAX) {
    ctx.set('Retry-After', RETRY_AFTER_SECONDS)
    throw tooManyRequests()
  }
  underWay.set(siteId, others + 1)
  return {
    [Symbol.dispose]() {
      const left = (underWay.get(siteId) ?? 1) - 1
      if (left > 0) underWay.set(siteId, left)
      else underWay.delete(siteId)
    },
  }
}

async function receive(ctx: Context, actor: SiteActor, { database, files, limits }: UploadPorts) {
  const { fileBytesMax } = limits
  if (Number(ctx.get('content-length')) > fileBytesMax) throw bodyTooLarge(fileBytesMax)
  const name = new URLSearchParams(ctx.querystring).get('name') ?? undefined
  const { req: stream } = ctx
  const declaredType = ctx.request.type
  return await receiveFile(database, actor, { stream, name, declaredType, files, limits })
}

/** The words of a refused change as an answer of HTTP. */
function inHttp({ code, message }: ChangeRefused): Error {
  if (code === 'FORBIDDEN') return notAnOperator()
  return code === 'LIMIT_REACHED' ? noRoomForFile(message) : badUpload(message)
}
