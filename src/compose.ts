/** The composition root: creates the parts of the service, and defines the order of the routes. */

import type { Logger } from 'pino'

import { makeApi, makeServiceDiscovery } from './api/api.ts'
import type { Config } from './config/config.ts'
import { makeDirectory } from './directory/directory.ts'
import { demoMailFolder } from './directory/mail/mail-folder.ts'
import { openKeys, type Rings } from './oauth/keys/key-rings.ts'
import { makeOauth } from './oauth/oauth.ts'
import { makeOps } from './ops/ops.ts'
import { makePages } from './pages/pages.ts'
import { mailRoutes } from './pages/signed-out/mail-routes.ts'
import { makeShownAddress } from './platform/audit/shown-address.ts'
import { everyRequest } from './platform/http/every-request.ts'
import { inOrder } from './platform/http/router.ts'
import { welcomeAndHealth } from './platform/http/welcome-and-health.ts'
import { limitByAddress } from './platform/limits/charge-requests.ts'
import { makeProxyWarning } from './platform/limits/ignored-proxy.ts'
import { readProcess } from './platform/monitoring/process-metrics.ts'
import { openPlatform, type PlatformOptions } from './platform/platform.ts'
import { type BackgroundTask, startBackgroundTasks } from './platform/process/background-tasks.ts'
import { makeResource } from './resource/resource.ts'
import { makeSchool } from './school/school.ts'

/** Opens the service. Its parts are closed in reverse order when the service is disposed, or when start-up fails. */
export async function openGatehouse(config: Config, logger: Logger, options: PlatformOptions = {}) {
  const { baseUrl, service, trustProxy } = config
  await using opening = new AsyncDisposableStack()

  const platform = opening.use(await openPlatform(config, logger, options))
  const keys = openKeys(config, platform)
  const { secretRoot, cursors } = keys
  const { upstreams, signIn } = service
  const platformKey = () => rings.current().upstreams[0]
  const processes = options.worker?.processes ?? 1
  const directoryParts = { processes, secretRoot, platformKey }
  const directory = opening.use(makeDirectory(platform, config, directoryParts))
  const ops = await makeOps(config, platform, directory)
  const rings = await keys.openRings(upstreams.length > 0 || signIn.passwordCheck !== null)
  const discovery = makeServiceDiscovery(config)
  const { scopeUses } = discovery
  const pages = makePages(config, platform, directory, { keys, scopeUses, handler: () => handler })
  const noteSignOutFailure = (clientId: string, reason: string) => {
    pages.refusals.noteSignOut(clientId, reason)
    platform.noteEvent({ action: 'sign_out_notice.failure', clientId, reason })
  }
  const schoolParts = { keys: secretRoot.downloadKeys, seals: secretRoot }
  const school = await makeSchool(config, platform, schoolParts)
  const { createMember } = school
  const oauthParts = { keys, own: pages.client, scopeUses, createMember, noteSignOutFailure }
  const oauth = await makeOauth(config, platform, directory, oauthParts)
  const resource = makeResource(config, platform, oauth, discovery.metadataUrl('origin'))
  if (ops.demoPeople.length > 0) await school.storeDemoFiles()
  const api = makeApi(config, platform, { directory, oauth, resource, school, discovery, cursors })

  const gate = limitByAddress(platform.requestLimits)
  const shownAddress = makeShownAddress(service.audit.addresses)
  const noteIgnoredProxy = trustProxy ? undefined : makeProxyWarning(platform)
  const perRequest = { baseUrl, serviceName: service.name, noteIgnoredProxy, gate, shownAddress }
  const first = everyRequest(perRequest, platform, (line) => {
    pages.refusals.noteRequest(line)
    platform.watch.noteRequest(line)
    platform.audit.noteRequest(line)
  })
  const { demoPeople } = ops
  const mailFolder = demoMailFolder(config, demoPeople.length > 0)
  const welcome = { baseUrl, demoPeople, showsMail: mailFolder !== undefined }
  const health = welcomeAndHealth(welcome, platform.stores.ping)
  const pageRoutes = pages.routes(api, discovery, oauth, school.webhooks)

  /** Creates the request handler with the given keys. Reuses all parts that hold no keys. */
  const makeHandler = (ring: Rings) => {
    const { engine, pages: interactionPages } = oauth.withKeys(ring.tokens)
    const upstream = resource.upstreamWithKeys(ring.upstreams)
    for (const each of first) engine.use(each)
    engine.use(discovery.cacheEngineDocuments(upstream.published))
    // `answers` must precede the engine, because this middleware rewrites the engine's responses.
    const routes = [
      resource.userinfo,
      resource.introspection,
      resource.forwardAuth,
      oauth.authorization.answers,
      health,
      mailRoutes(mailFolder),
      discovery.routes,
      oauth.registrationRoutes,
      oauth.authorization.requests,
      api.member.routes,
      api.admin.routes,
      api.tools,
      upstream.route,
      ops.records,
      interactionPages,
      school.downloadRoutes,
    ]
    engine.use(inOrder(routes.concat(pageRoutes.flat())))
    return engine.callback()
  }
  let handler = makeHandler(rings.current())
  const followKeys = async () => {
    if (!(await rings.reload())) return
    handler = makeHandler(rings.current())
    logger.info({ keys: rings.current().version }, 'signing keys changed')
  }

  opening.defer(pages.refusals.flush)
  opening.defer(platform.audit.end)
  opening.defer(oauth.grants.usage.flush)
  const everySeconds = service.storage.usageFlushSeconds
  const tasks: BackgroundTask[] = [
    { name: 'usage', everySeconds, run: oauth.grants.usage.flush },
    { name: 'refusals', everySeconds, run: pages.refusals.flush },
    { name: 'keys', everySeconds: service.keys.reloadSeconds, run: followKeys },
    school.delivery,
    platform.outboxTask({
      mail: directory.mailHandler,
      webhook: school.webhookHandler,
      sign_out_notice: oauth.noticeHandler,
    }),
  ]
  const everyTask = tasks.concat(platform.tasks, oauth.tasks, ops.tasks)
  opening.use(startBackgroundTasks(everyTask, { logger, noteSuccess: platform.watch.noteTask }))
  if (options.watchers?.metrics) {
    const sources = { passwords: directory.passwords, rings }
    opening.use(readProcess(options.watchers.metrics, platform, sources))
  }
  const open = opening.move()
  return {
    stores: platform.stores,
    demoPeople,
    /** The service's clock, in epoch milliseconds. */
    now: platform.now,
    /** Returns the current request handler. A new handler replaces it when the signing keys rotate. */
    handler: () => handler,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
