/** A source line and how to break it, for `npm run test:mutants`. */
export interface Mutant {
  readonly file: string
  /** The text to replace, which occurs exactly once in the file. */
  readonly text: string
  readonly replacement: string
  /** At least one of these test files must fail. */
  readonly tests: readonly string[]
  /** Why the mutant has no visible effect, and may survive. */
  readonly lives: string | undefined
}

/**
 * A section for each file of `src` names the tests that must notice its mutants. Each line is a source text with its
 * change marked, `before«old→new»after # lives`. In the text, `\n` is a line break.
 */
const table = String.raw`
# platform/store/restore-marker.ts: system/restored-elsewhere
if (sentence) «return →»logger
«inRedis > atMs || inFolder→inFolder»
inRedis > atMs« || inFolder > atMs→»
(!marker «&&→||» !(await
«|| value === id→»)
|| «!→»id ||

# school/files/shared-folder.ts: system/files
«if (engine === 'sqlite') return→»
«if (!(await insertNew(trx, 'setting', row))) return→await insertNew(trx, 'setting', row)»
id «===→!==» undefined || id ===

# directory/scopes/policy.ts: scopes
(scope.audience === 'identity') return «true→false»
.audience === 'member') return «origin === 'site'→true»
.audience === 'member') return «origin === 'site'→false»
if (origin === '«site→loopback»') return false
return «origin !== 'document' || reviewed || scope.access === 'read'→true»
!== 'document' || reviewed« || scope.access === 'read'→»
!== 'document' || «reviewed || →»scope.access ===
== 'identity' || !chosen || «chosen.includes(scope.name)→true»
isOpen(scope, origin, reviewed «=== true→!== false»)
needsOperator = haveAudience('«operator→identity»')

# directory/scopes/policy.ts: scopes access
needsResource = haveAudience('«member→operator»')
findScope(name)?.audience «===→!==» audience

# oauth/grants/judge-access.ts: access
if (!facts) «return 'the grant does not exist'→throw new Error('gone')»
if («facts.personDisabled→false») return
.clientDeleted« || (needsResource(scopes) && !facts.isApplication)→»
«facts.clientDeleted || (needsResource(scopes) && !facts.isApplication)→needsResource(scopes) && !facts.isApplication»
«if (facts.clientDisabled) return 'the client is disabled'→»
return «facts.featureOff→false» ?
if («grant.endedBecause→false») return
return grant.expiresAt «<=→<» nowMs ?
return grant.expiresAt «<=→>» nowMs ?
grant.siteId !== undefined« || needsResource(scopes)→»
«grant.siteId !== undefined || →»needsResource(scopes)
if («atSite && roles.length === 0→false») return
return «needsOperator(scopes) && !operates(roles)→false»

# oauth/grants/judge-access.ts: operator-applications
if («grant.clientOrigin === 'operator' && !roles.includes('owner')→false») {

# directory/sites/site-choice.ts: operator-applications
if («site && question.ownersOnly && !site.roles.includes('owner')→false») {

# pages/admin/operator-pages.ts: operator-applications
if («isOperator && !site.roles.includes('owner')→false») throw notAnOwner()

# oauth/token/refresh-token-use.ts: operator-applications
return «isEndless→false» ?
return «isEndless→true» ?

# ops/import/records-route.ts: platform-records
audience: «baseUrl + planPaths.records→[baseUrl, baseUrl + planPaths.records]»,
«typ: 'records+jwt',→»
«maxTokenAge: JWT_SECONDS_MAX,→»
if («Number(exp) - Number(iat) > JWT_SECONDS_MAX→false»)
return «payload['body_sha256'] === sha256(body)→true»
if («lines.length > RECORDS_MAX→false») throw

# oauth/token/claims.ts: access
.personId === personId« && facts.grant.clientId === clientId→»
facts.grant.«personId === personId && facts.grant.→»clientId ===

# directory/sites/site-choice.ts: access
new Set(['owner', 'admin'«→, 'student'»])
new Set(['owner', 'admin'«→, 'lecturer'»])
.«some→every»((role) => operatorRoles.has(role))

# oauth/grants/allowed-scopes.ts: released-claims
const granted = «resource === undefined ? openid?.scope : resources?.[resource]→[openid?.scope, ...Object.values(resources ?? {})].join(' ')»

# oauth/token/refresh-token-use.ts: families
if («family.ended→false») return
if («!family.token.refreshes→false») return
if (generation > family.generation«→ + 1») {
if (generation < family.generation«→ - 1») {
«replacedAt !== undefined && nowMs - replacedAt→nowMs - (replacedAt ?? nowMs)» <=
<= lifetimes.refreshRetrySeconds * «1000→10_000»
«nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 1000→true»
return expiryOf(token, lifetimes) «<=→<» nowMs
Math.min(«idleEnd→Infinity», startedAt +
Math.min(idleEnd, «startedAt + refreshTokenAbsoluteSeconds * 1000→Infinity»)
«nowMs - step <= refreshRetrySeconds * 1000→true»)
return [...recent, nowMs]«.slice(-STEPS_MAX)→»

# oauth/token/refresh-token.ts: hostile/grant token families
«if (named && audience === undefined) throw resourceNotGranted()→»
if («clientId !== oidc.client.clientId→false»)
if («audience !== undefined && audience !== resources.audience→false») {
«if (lost !== undefined) throw invalidGrant(lost)→»
granted = «held.filter((scope) => allowed.includes(scope))→[...held]»
«if (missing.length > 0) throw scopeNotGranted(missing)→»
return granted«.filter((scope) => scopes.includes(scope))→»
if («scopes.length === 0→false»)
) throw «await endReused(ctx, grant.id, grants→invalidGrant('used'»)
.kind === 'lost') «throw invalidGrant(use.reason)→return undefined»
«if (repeats !== undefined) return { family, replacedAt: repeats }→» # the store refuses the step, and one more query finds the retry
generation = «isKept ? use.generation : use.generation + 1→use.generation»
use.granted«.filter((scope) => allowed.includes(scope))→» # second guard: a later refusal is also removed from the grant

# oauth/token/refresh-binding.ts: families
«await grants.store.end(grantId, 'a replaced refresh token was used again', callerOf(ctx))→»

# oauth/token/refresh-binding.ts: dpop
«comesBack ? await endReused(ctx, token.grant.id, grants) : →»invalidGrant(
«(use.kind === 'retry' && bound !== undefined)→false»
«if (jkt === bindTo) return→»
«if (bound === undefined && !demanded) →»return { kind: 'keep' }
== undefined« && !demanded→») return { kind: 'keep' }
«if (bound === proven) return { kind: 'keep' }→»
«if (bound === undefined || !isPublic) →»return { kind: 'bind',

# oauth/token/resource-indicators.ts: resources hostile/grant hostile/authorization
«scheme.toLowerCase() === protocol && →»origins.has(authority.
 === protocol« && origins.has(authority.toLowerCase())→»\n
return isOurs« && isKnown(path)→» ?
  «  throw unknownResource(resources.audience)\n  →»}\n  return named
named.«some→every»((resource)
«if (needsResource(scopes)) throw resourceRequired(resources.audience)→»
«if (resources.canonical(resource) === undefined) throw unknownResource(resources.audience)\n      →»return {

# oauth/token/authorization-code.ts: token hostile/grant hostile/token
const REPEAT_SECONDS = «5→5_000»

# oauth/token/tokens.ts: hostile/token-kind hostile/grant resource-server
if (!facts?.family« || !claim.isGenuine(facts.family)→») return
scopes: «claim.scopesOf(token.scopes)→token.scopes»,

# resource/resource-server/judge-token.ts: resource-server hostile/token-kind introspection-answers
«if (token.expiresAt * 1000 <= nowMs) return 'the token has expired'→»
return «use.kind === 'good' ? undefined : 'the refresh token was replaced'→undefined»
return «unbound→true»\n    ? undefined
«if (token.audience !== undefined) return 'the token was issued for another origin'→»
if (token.audience «=== audience→!== ""») return
return «problem ?? →»(token.family.ended
(«token.family.ended ? 'the token was revoked' : undefined→undefined»)

# resource/resource-server/verify-bearer.ts: resource-server hostile/token-kind
if (authorization.length > «1→9»)
needed.«every→some»(isHeld)
sufficient?.some(«isHeld→() => true»)
/^(bearer|dpop«) +→|token)? *»([^ ]+)$/i
return «{ kind: 'unavailable', cause }→reject(String(cause))»

# resource/resource-server/binding.ts: dpop
return «scheme === 'Bearer' ? {} : faulty('an unbound token was sent with the DPoP scheme')→{}»
) return «faulty('the token is bound to a key: send it with a DPoP proof')→{}»
«if (proof.thumbprint === jkt) →»return { nextNonce }

# oauth/clients/registration.ts: registration hostile/registration
.length > 0 && redirectUris.«every→some»(isLoopback
redirectUris.«length > 0 && redirectUris.→»every(isLoopback)
if («isForeign || (redirectUris.length > 0 && known.length === 0)→redirectUris.length > 0 && known.length === 0»)
if (isForeign« || (redirectUris.length > 0 && known.length === 0)→»)
if ('problem' in read) «throw invalidClientMetadata(read.problem→return decideRegistration({ ...body, client_name: 'x' }, policy»)
if («!grantTypes.includes('authorization_code')→false») {
if («body.response_types && !body.response_types.includes('code')→false») {
return «(kept.length > 0 ? kept : open)→[...asked]».join(' ')

# platform/http/redirect-uri.ts: redirect-uri registration-loopback metadata-document hostile/registration
(host)« || !hosts.includes(host)→») return false\n  return
Number(port) <= 65_535« && URL.parse(uri)?.pathname === path→»
«Number(port) <= 65_535 && →»URL.parse(uri)?.pathname === # the URL parser refuses such ports too
return host === listedHost« && path === listedPath→»
return «host === listedHost && →»path === listedPath
== '' && !«schemesOfBrowsers.has(scheme) && !→»uri.includes('#'
if (url?.href !== uri« || url.origin !== document.origin→») return
if («url?.href !== uri || url.→url?.»origin !== document.origin
(url.protocol === 'http:') return «isLoopback→true»
return «applicationType === 'web' || !isLoopback→true»
return «applicationType === 'native' && →»isAppAddress(uri)

# platform/http/redirect-uri.ts: platform-callbacks
const segment = /^«[A-Za-z0-9_-]→.»{1,128}$/
const segment = /^[A-Za-z0-9_-]«{1,128}→+»$/
!uri.startsWith(before)« || !uri.endsWith(after)→» # no platform has anything after the segment

# oauth/clients/authenticate-client.ts: introspection-answers hostile/client-endpoint private-key-jwt
«client.authMethod !== (assertion === undefined ? method : 'private_key_jwt')→false») {
«secret !== undefined && !matchesSecret(secret, client.secretDigests ?? [])→false»
«if (refused !== undefined) return { client, refused }→»

# oauth/clients/secret.ts: introspection-answers hostile/client-endpoint
«isSame(sha256(secret), digest)→secret.length > 0»

# directory/people/relying-party.ts: own-sign-in account
validateAuthResponse(server, client, answer, «state→answer.get('state') ?? undefined»)
expectedNonce: «nonce→undefined»,
«await validateApplicationLevelSignature(server, response, options)→»
«verifier→'a'.repeat(43)»,\n    options,

# pages/relying-party/sign-in.ts: own-sign-in
authorization_response_iss_parameter_supported: «true→false», # a foreign issuer is refused either way, and a missing one in test/hostile/page
[clockTolerance]: «0→3600»,
«if (response.status === 503) throw storageUnavailable(await response.text())→»

# pages/relying-party/signed-in-pages.ts: hostile/page
«if (answer.get('state') !== pending.state) return seeOther(ctx, pending.returnTo)→»
«checkFormToken(ctx, session.csrf)→»
returnTo«.length > RETURN_TO_CHARACTERS_MAX ? areaPath(ctx.path) : returnTo→»
if (!session) return «seeOther(ctx, await startSignIn(ctx, ports, ctx.url→sendAnswer(ctx, await show(ctx as PageContext, { person: { id: 'per_olivia' } } as unknown as PageSession»))

# oauth/authorization/browser-session.ts: sessions
if («given.authenticatedAt <= (person.signedOutAt ?? 0)→false») return
if («!person.session→false») session.uid =
«|| entities.Interaction?.prompt.name !== 'login'→») return

# directory/people/person-store.ts: sessions token
«Number(expires_at) > now() &&→»
«&& authenticatedAt > signedOutAt→»
«.onRef('s.person_id', '=', 'person.id')→» # second guard: the engine starts a new session for another person

# directory/people/passkeys.ts: passkeys
if («disabledAt !== null→false») return 'passkey of a disabled account'
«found.personId !== personId→false») return refused
refusalOf(found, info.userVerified« || owner !== undefined→»
counter === 0 ? '=' : '«<→<=»'
updateTable('passkey').where('id', '=', id)«.where('cloned_at', 'is', null)→»
(row.counter === counter «&&→||» row.last_challenge

# directory/people/webauthn.ts: passkeys
format !== 'none' && !isSelfMade«→ && false»
expectedOrigin: «origin→[origin, 'http://localhost:1']»

# directory/people/browser-sessions.ts: sessions
«Math.min(authenticatedAt + sessionSeconds * 1000, idleUntil)→idleUntil»
.where('«person_id', '=', personId)\n        .where('→»id', others

# pages/relying-party/signed-in-pages.ts: sessions
=> «now() < authenticatedAt + freshSeconds * 1000→true»

# pages/relying-party/page-session.ts: sessions
const isLater = «browser.authenticatedAt > Number(record['authenticatedAt'])→false»

# pages/relying-party/page-session.ts: account hostile/page
.get(cookie, { signed: «true→false» })\n      const # second guard: the id is 256 random bits, stored as a digest

# platform/http/page-form.ts: hostile/page hostile/interaction
«if (site !== '' && site !== 'same-origin' && site !== 'none') throw foreignForm()→»
if («!isSame(given, token)→given.length !== token.length») throw foreignForm()

# platform/store/cursor.ts: cursors hostile/api
const genuine = «secrets.some((key) => timingSafeEqual(mac, sealMac(content, scope, key)))→mac.length === MAC_BYTES»
update(«JSON.stringify(scope)→''»)
update(«JSON.stringify(scope→scope.join(''»))
«if (sealed.length > SEALED_LENGTH_MAX) return undefined→» # it only bounds work
mac.length < MAC_BYTES« || bytes.toString('base64url') !== sealed→»
return hmac.«update(content).→»digest()

# platform/store/keyset.ts: admin-lists member-lists
direction === 'asc' ? '«>' : '<→>=' : '<=»'
.limit(first« + 1→»)
hasNextPage: found.length «>→>=» first
: wanted === 'OLDEST' ? '«asc' : 'desc→desc' : 'asc»'

# platform/http/client-addresses.ts: metadata-document
url.href !== clientId« || url.origin + url.pathname !== clientId→»
url.«port !== '' || url.pathname→pathname» === '/' || !
= '' || url.pathname === '/'« || !isPublicName(url.hostname)→»

# oauth/clients/metadata-document.ts: metadata-document
«if (read.client_id !== address.href) return 'its client_id differs from its URL'→»
«policy.sources.some((source) => source === url.hostname || source === clientId)→true»
«if (preferred?.startsWith('client_secret')) return { problem: 'it requires a shared secret' }→»
«isLoopback(uri) || isUnderHost(uri, address)→true»
JSON.stringify([name«, redirectUris.toSorted()→»])
JSON.stringify([«name, →»redirectUris.toSorted()]

# oauth/authorization/decide-consent.ts: authorize metadata-document-flow
«if (others.length > 0 || !isApproved(document, site)) return true→»
return isOfConnection« || !redirectUri.startsWith('https:')→»
«isOfConnection || →»!redirectUri.startsWith('https:')

# oauth/authorization/prompts.ts: authorize hostile/interaction account metadata-document-flow
«Boolean(oidc.account && oidc.account['session'] === undefined)→false»
if («decision.kind === 'refused'→false») throw

# oauth/clients/proofs.ts: private-key-jwt
return «iat !== undefined && iat > nowMs / 1000 + aheadMax→false»

# directory/people/second-factors.ts: second-factor
«.where('last_step', '<', step)→»
if («exceeded→false») return { kind
if («numDeletedRows === 0n→false») return false\n      const left
openOrNothing(seals, sealed, LABEL« + session→»)\n      const last

# platform/http/kept-values.ts: second-factor identity-providers
return «until > now()→true» ? value
« ${'$'}{owner}→»${'`'}\n

# oauth/authorization/browser-session.ts: account-data identity-providers
if («person.isLeaving→false» && session
person.isLeaving« && session.siteId === undefined→») await

# oauth/interaction/sign-in-steps.ts: second-factor
if («!first.needsSecondFactor && !canBeAsked→true») return await finish

# directory/people/authenticate.ts: sign-in
«account = (await store.findCredentials(login)).account→»\n
«if (disabled) return { kind: 'refused', why: 'disabled account', personId }→»

# directory/people/authenticate.ts: password-hook
answer === 'valid' &&« isAsked &&→» # replaceHash replaces no hash; the condition saves the work
«answer === 'valid' && →»isAsked
«await refusalTime→»
«answer === 'unavailable' ? { kind: 'unavailable' } : →»refused

# directory/people/credential-store.ts: password-hook brought-hashes
«.where('password_hash', from === undefined ? 'is' : '=', from ?? null)→»
«.where('disabled_at', 'is', null)→»

# directory/people/password-formats.ts: brought-hashes
«Number(cost) > BCRYPT_COST_MAX→false»
«N * r * p > SCRYPT_WORK_MAX ||→»
« * Math.ceil(bytes / (DIGEST_BYTES[digest] ?? 1))→»
« || !hash.isCurrent→»

# ops/import/write-batch.ts: brought-hashes
«await keepNewerHashes(trx, rows)→»

# school/members/invitations.ts: invitations
if (Number(events) «<→<=» max) return

# school/members/joining.ts: joining
return «held.includes('owner') || !roles.includes('owner')→true»
«if (!(await useLink(trx, link, nowMs))) return 'gone'→await useLink(trx, link, nowMs)»
«if (!operates(held) || (await disabled.executeTakeFirst())) return false→»

# directory/people/link-requests.ts: joining
const email = «canonicalEmail(request.login)→request.login»

# platform/store/oauth-state.ts: store/state
new Set(«[...onceModels, 'Session']→onceModels»)
commands.set(uidKey(uid), «storedId(model, id)→id», 'PX'

# oauth/authorization/engine-adapter.ts: hostile/interaction
«{ ...session, cookie: undefined }→session»
return «isOther ? undefined : →»record

# oauth/authorization/required-acr.ts: assurance
«if (essential) return essential→»
if (!required || «required.includes(oidc.acr→required[0] || required.includes(oidc.acr»
if («!isPossible || →»oidc.result?.login) throw
if (!isPossible« || oidc.result?.login→») throw
!session?.accountId« || session.past(maxAgeSeconds)→»
«if (entities.Interaction?.prompt.reasons→if (!entities.Interaction?.prompt.reasons».includes
if (!demand || («acr === MFA_ACR && →»!isOlder(
(acr === MFA_ACR« && !isOlder(session, demand.maxAgeSeconds)→»)

# directory/people/authentication.ts: assurance
return «acr === MFA_ACR && →»nowMs / 1000
acr === MFA_ACR« && nowMs / 1000 - authTime <= (maxAgeSeconds ?? Number.POSITIVE_INFINITY)→»

# oauth/token/refresh-token.ts: assurance
if (\n    «demand?.areas.includes(EVERYTHING)→false» &&

# resource/resource-server/verify-bearer.ts: assurance
return demand && «isSensitive(demand, needed, operations)→false»

# directory/scopes/sensitive-operations.ts: assurance
if («operations.some((name) => sensitiveOperations.has(name))→false») return
return «scopes.some(→false && scopes.some(»(scope)
if (areas.includes(EVERYTHING)) return «needsOperator(scopes)→false»

# pages/admin/operator-pages.ts: assurance
return acr === undefined || («authenticatedAt > 0 && →»browser.acr === acr)
(authenticatedAt > 0 && «browser.acr === acr→true»)
if («demandsMfa(operator.site) && !reaches(session, MFA_ACR)→false») throw

# oauth/authorization/engine-interactions.ts: hostile/interaction
«if (details.prompt.details['browser'] !== visitors.digestOf(ctx)) throw interactionGone()→»

# oauth/token/authorization-code.ts: clean-up
return «Math.max(2 * accessTokenSeconds, authorizationCodeSeconds + CLOCKS_DIFFER_SECONDS)→2 * accessTokenSeconds»

# platform/outbox/outbox.ts: store/outbox
    .«where('due_at', '<=', nowMs)\n    .→»$if(engine
due_at: nowMs« + CLAIM_MS→»
WAITS_SECONDS[attempts« - 1→»]

# platform/outbox/outbox.ts: mail
failure instanceof Undeliverable« || isOld→»
«failure instanceof Undeliverable || →»isOld
setTimeout(() => «cut.abort()→{}», STOP_WITHIN_MS)

# directory/mail/smtp.ts: mail
/^(«→MAIL FROM|»RCPT TO|DATA)$/
(responseCode ?? 0) >= «500→400»
requireTLS: «!secure && !isHere→false»
rejectUnauthorized: «!isHere→false»

# directory/mail/mail.ts: mail
«(linkId !== undefined && !link) ||→»
if («!isMailAddress(letter.to)→false»)
«canonicalEmail(to)→to»
if (attempt === «1→0») await takeLimit
mail.to« ?? person?.email→»
replace(/[\p{«Cc→Lu»}

# directory/people/identity-providers.ts: identity-providers
if («begun.isAgain && !(latestAt >= begun.begunAt)→false»)
typeof email === 'string'« && isMailAddress(email)→» ? email
«throw new Error('the ${'`'}sub${'`'} of the id_token is invalid')→void 0»
[names.emailVerified]: «verified→verified = true» } = claims

# oauth/interaction/provider-routes.ts: identity-providers
if («!identity.isVerified || →»(await identities.hasAccount(email)))
if (begun«?.providerId !== provider.id→ === undefined»)

# oauth/authorization/prompts.ts: identity-providers site-providers
from !== undefined« && from === siteId→»)) return false
decision.kind === 'bound'« && decision.site.hasOwnSignIn === true→»\n    }),

# pages/admin/operator-pages.ts: site-providers
if (!operates(site.roles)« || (siteId ?? site.id) !== site.id→») throw

# school/members/joining.ts: site-providers
email_verified_at: «ofSite === undefined ? nowMs : null→nowMs»,

# directory/people/linked-identities.ts: identity-providers
if («disabledAt !== null→false») return
const needsSecondFactor = «person.confirmed_at !== null→false»

# directory/people/person-store.ts: identity-providers
selectFrom('person')«.where('email_canonical', '=', canonicalEmail(email))→»

# directory/people/linked-identities.ts: linked-identities
if («isLast && !hasOtherWay→false») return true
«    .where('l.person_id', '=', personId)\n→»    .orderBy('linked_at')
«await passkey.where('cloned_at', 'is', null)→await passkey».executeTakeFirst()

# directory/mail/notices.ts: mail
«    .where('granted_at', '<', createdAt)\n→»
«Boolean(row.used) === (clientId === undefined)→true»
«if (enabled) →»await queueMail(trx
«if (!enabled) return→»

# directory/mail/mail-folder.ts: mail
«.filter((name) => FILE_NAME.test(name))→»
{« mode: 0o600 →»}
`

export const mutants = table.split(/^# /m).slice(1).flatMap(mutantsOf)

function mutantsOf(section: string): Mutant[] {
  const [head = '', ...changes] = section.trim().split('\n')
  const [file, tests = ''] = head.split(': ')
  return changes.map((change) => {
    const match = /^(.*)«(.*)→(.*)»(.*?)(?: # (.*))?$/s.exec(change.replaceAll('\\n', '\n'))
    if (!match) throw new Error(`the mutants of ${file} have a row without «old→new»: ${change}`)
    const [, before = '', old = '', next = '', after = '', lives] = match
    return {
      ...{ file: `src/${file}`, text: before + old + after, replacement: before + next + after },
      ...{ tests: tests.split(' ').map((test) => `test/${test}.test.ts`), lives },
    }
  })
}
