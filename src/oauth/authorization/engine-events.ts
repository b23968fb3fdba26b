import type { EventEmitter } from 'node:events'

import type { Context } from 'koa'
import { type KoaContextWithOIDC, Provider } from 'oidc-provider'

import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { callerOf, grantTypes, logFields, requestIdOf } from '../../platform/http/request-log.ts'
import { reasonForOperator } from './engine-answers.ts'
import type { EngineDependencies } from './engine-dependencies.ts'

const errorEvents = [
  'authorization.error',
  'grant.error',
  'pushed_authorization_request.error',
  'revocation.error',
  'end_session.error',
  'end_session_confirm.error',
  'server_error',
] as const

/**
 * Logs the client, the person and the reason for each rejection, and records audit events. Never logs tokens, codes or
 * secrets. The only logged parameters are the grant type and scopes, if known, and shortened redirect URIs
 * (oauth/clients/redirect-difference.ts).
 */
export function logEngineEvents(provider: Provider, { platform }: EngineDependencies): void {
  const { logger, noteEvent } = platform
  // The engine's types have one overload for each event, so a loop over events needs this wider type.
  const emitter: EventEmitter = provider
  emitter.on('error', (error: unknown, ctx?: Context) => {
    // An error during a request is in the log line of that request. An error at any other time gets its own line.
    if (ctx && !ctx.res.closed) logFields(ctx).cause ??= error
    else logger.error({ err: error, id: ctx && requestIdOf(ctx) }, 'unexpected error')
  })
  for (const event of errorEvents) {
    emitter.on(event, (ctx: KoaContextWithOIDC, error: EngineError) => {
      const fields = fillLogFields(ctx)
      const said = error.error_detail ?? error.error_description ?? error.message
      const {
        client,
        params = ctx.query,
        provider: { issuer: baseUrl },
      } = ctx.oidc
      Object.assign(fields, {
        error: error.error ?? 'server_error',
        // Keep the more specific reason set by our policy.
        detail: fields.detail ?? reasonForOperator(said, { client, params, baseUrl }),
        ...(error.cause ? { cause: String(error.cause) } : {}),
        ...(event === 'server_error' && { stack: error.stack }),
      })
    })
  }
  provider.on('grant.success', fillLogFields)
  provider.on('grant.revoked', fillLogFields)
  const note = (ctx: unknown, event: Omit<Parameters<NoteEvent>[0], 'requestId' | 'address'>) =>
    noteEvent({ ...event, ...callerOf(ctx as Context) })
  provider.on('authorization.success', (ctx) => {
    const { client: clientId, person: personId } = fillLogFields(ctx)
    const grantId = ctx.oidc.entities.Grant?.jti
    note(ctx, { action: 'authorization.given', clientId, personId, grantId })
  })
  provider.on('end_session.success', (ctx) => {
    const { session, params, client } = ctx.oidc
    // Skip the event if no person was signed in, or the person chose to stay signed in.
    if (session?.accountId === undefined || params?.['logout'] === undefined) return
    const clientId = client?.clientId
    note(ctx, { action: 'sign_out.browser', personId: session.accountId, clientId })
  })
  provider.on('access_token.destroyed', ({ clientId, accountId: aboutPersonId, grantId }) => {
    const reason = 'the client revoked it'
    if (Provider.ctx === undefined) return
    note(Provider.ctx, { action: 'access_token.revoked', clientId, aboutPersonId, grantId, reason })
  })
}

type EngineError = Error & {
  readonly error?: string
  readonly error_description?: string
  readonly error_detail?: string
}

function fillLogFields(ctx: KoaContextWithOIDC) {
  const fields = logFields(ctx as unknown as Context)
  fields.client = ctx.oidc?.client?.clientId
  fields.person = ctx.oidc?.account?.accountId
  fields.grantType = grantTypes.find((type) => type === ctx.oidc?.params?.['grant_type'])
  return fields
}
