import { Readable } from 'node:stream'

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
  notApproved,
  tooManyRequests,
} from '../../platform/http/errors.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import { type Protection, refuse, verdictOf } from '../../resource/resource-server/protect.ts'
import {
  demandScopes,
  type Granted,
  type Verdict,
} from '../../resource/resource-server/verify-bearer.ts'
import { demandApproval } from '../../school/changes/approvals.ts'
import { ChangeRefused } from '../../school/changes/refusals.ts'
import type { Files } from '../../school/files/file-storage.ts'
import { receiveFile, type Upload } from '../../school/files/receive-file.ts'
import type { FileLimits } from '../../school/files/stored-files.ts'
import type { EndpointPorts } from '../graphql/endpoint.ts'
import type { AdminCaller } from './context.ts'

/** The rules of the Admin API for admitting a request and determining its caller. */
export interface Admission {
  readonly protection: Protection
  readonly admit: (verdict: Verdict) => Verdict
  readonly callerOf: (token: Granted['token'], ctx: Context) => AdminCaller
}

interface Uploads {
  readonly files: Files
  readonly limits: FileLimits
}

/** Registers POST /admin/files. The body is the file, because GraphQL would need to hold the whole file in memory. */
export function uploadRoute(
  router: Router,
  { verifyBearer, baseUrl, platform: { database, now } }: EndpointPorts,
  receive: ReceiveUpload,
  admission: Admission,
): void {
  const scope = writeScope('storage')
  const protection = { ...admission.protection, scopes: [scope] }
  router.all(paths.adminFiles, openCors(['POST']), async (ctx) => {
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      throw methodNotAllowed('POST')
    }
    ctx.set('Cache-Control', 'no-store')
    const verdict = demandScopes(admission.admit(await verdictOf(ctx, verifyBearer)), [scope])
    if (verdict.kind !== 'granted') return await refuse(ctx, verdict, protection)
    const caller = admission.callerOf(verdict.token, ctx)
    const approve = async (name: string, keepsApproval: boolean) => {
      const given = { name, mediaType: ctx.request.type }
      const upload = { operation: 'uploadFile', arguments: given, isDestructive: false }
      const change = { ...upload, keepsApproval }
      try {
        await demandApproval(database, { ...caller, now: now() }, change, baseUrl)
      } catch (error) {
        const needsPerson = error instanceof ChangeRefused && error.code !== 'FORBIDDEN'
        throw needsPerson ? notApproved(error.message) : error
      }
    }
    await receive(ctx, caller, { approve })
  })
}

export type ReceiveUpload = ReturnType<typeof makeReceiveUpload>

/**
 * Creates the function that receives a file within the limits of the person and the site. The function responds with
 * the metadata of the file, and returns its record. By default, the file is the request body, and its name is in the
 * query. The function throws HTTP errors.
 */
export function makeReceiveUpload(
  { database, requestLimits, now }: EndpointPorts['platform'],
  { files, limits }: Uploads,
) {
  return async (
    ctx: Context,
    caller: Pick<AdminCaller, 'siteId' | 'personId' | 'clientId'>,
    sent: Partial<Upload>,
  ) => {
    refuseTooMany(ctx, requestLimits.take('uploads', personKey(caller)))
    using _slot = takeSlot(ctx, caller.siteId)
    if (!sent.stream && Number(ctx.get('content-length')) > limits.fileBytesMax) {
      throw bodyTooLarge(limits.fileBytesMax)
    }
    const name = new URLSearchParams(ctx.querystring).get('name') ?? undefined
    const whole = { stream: ctx.req, name, declaredType: ctx.request.type, files, limits, ...sent }
    try {
      const actor = { ...caller, ...callerOf(ctx), now: now() }
      const { file, isNew } = await receiveFile(database, actor, whole)
      const { id, mediaType, sizeBytes, sha256 } = file
      ctx.status = isNew ? 201 : 200
      ctx.body = { id, name: file.name, mediaType, sizeBytes, sha256 }
      return file
    } catch (error) {
      throw error instanceof ChangeRefused ? httpError(error) : error
    }
  }
}

/**
 * Creates the function that stores a file uploaded with a form, for the caller's site. The function returns the id of
 * the file, and throws the errors of `receiveFile`.
 */
export function makeStoreFile(
  { database, now }: Pick<EndpointPorts['platform'], 'database' | 'now'>,
  { files, limits }: Uploads,
) {
  return async (caller: AdminCaller, form: File): Promise<string> => {
    const stream = Readable.fromWeb(form.stream())
    const sent = { stream, name: form.name, declaredType: form.type, files, limits }
    const { file } = await receiveFile(database, { ...caller, now: now() }, sent)
    return file.id
  }
}

/** The maximum number of uploads in progress, per site and process. Limits the disk space of unfinished uploads. */
const UPLOADS_AT_ONCE_MAX = 16
const RETRY_AFTER_SECONDS = '5'

const inProgress = new Map<string, number>()

/** Takes one of the upload slots of the site. @throws tooManyRequests if all are taken */
function takeSlot(ctx: Context, siteId: string): Disposable {
  const others = inProgress.get(siteId) ?? 0
  if (others >= UPLOADS_AT_ONCE_MAX) {
    ctx.set('Retry-After', RETRY_AFTER_SECONDS)
    throw tooManyRequests()
  }
  inProgress.set(siteId, others + 1)
  return {
    [Symbol.dispose]() {
      const left = (inProgress.get(siteId) ?? 1) - 1
      if (left > 0) inProgress.set(siteId, left)
      else inProgress.delete(siteId)
    },
  }
}

function httpError({ code, message }: ChangeRefused): Error {
  if (code === 'FORBIDDEN') return notAnOperator()
  return code === 'LIMIT_REACHED' ? noRoomForFile(message) : badUpload(message)
}
