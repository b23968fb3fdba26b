/** Source lines and how to break them, for `npm run test:mutants`. */
export interface Mutant {
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly text: string
  readonly replacement: string
  /** At least one of these test files must fail. */
  readonly tests: readonly string[]
  /** Why it may survive: it has no visible effect. */
  readonly lives?: string
}

type Change = readonly [text: string, replacement: string, lives?: string]

/** The mutants of one file, and the names of the tests that must notice them. */
function inFile(file: string, tests: string, changes: readonly Change[]): Mutant[] {
  return changes.map(([text, replacement, lives]) => ({
    file: `src/${file}`,
    text,
    replacement,
    tests: tests.split(' ').map((test) => `test/${test}.test.ts`),
    ...(lives !== undefined && { lives }),
  }))
}

export const mutants: readonly Mutant[] = [
  ...inFile('platform/store/restore-marker.ts', 'system/restored-elsewhere', [
    ['if (sentence) return logger', 'if (sentence) logger'],
    ['inRedis > atMs || inFolder', 'inFolder'],
    ['inRedis > atMs || inFolder > atMs', 'inRedis > atMs'],
    ['(!marker && !(await', '(!marker || !(await'],
    ['|| value === id)', ')'],
    ['|| !id ||', '|| id ||'],
  ]),
  ...inFile('school/files/shared-folder.ts', 'system/shared-folder', [
    ["if (engine === 'sqlite') return", ''],
    ['if (!added) return', ''],
    ['id === undefined || id ===', 'id !== undefined || id ==='],
  ]),
  ...inFile('directory/scopes/policy.ts', 'scopes', [
    ["(scope.audience === 'identity') return true", "(scope.audience === 'identity') return false"],
    [".audience === 'member') return origin === 'site'", ".audience === 'member') return true"],
    [".audience === 'member') return origin === 'site'", ".audience === 'member') return false"],
    ["if (origin === 'site') return false", "if (origin === 'loopback') return false"],
    ["return origin !== 'document' || reviewed || scope.access === 'read'", 'return true'],
    ["!== 'document' || reviewed || scope.access === 'read'", "!== 'document' || reviewed"],
    ["!== 'document' || reviewed || scope.access ===", "!== 'document' || scope.access ==="],
    ["== 'identity' || !chosen || chosen.includes(scope.name)", "== 'identity' || !chosen || true"],
    ['isOpen(scope, origin, reviewed === true)', 'isOpen(scope, origin, reviewed !== false)'],
    ["return hasAudience(scopes, 'operator')", "return hasAudience(scopes, 'identity')"],
  ]),
  ...inFile('directory/scopes/policy.ts', 'scopes access', [
    ["return hasAudience(scopes, 'member')", "return hasAudience(scopes, 'operator')"],
    ['findScope(name)?.audience === audience', 'findScope(name)?.audience !== audience'],
  ]),
  ...inFile('oauth/grants/judge-access.ts', 'access', [
    ["if (!facts) return 'the grant does not exist'", "if (!facts) throw new Error('gone')"],
    ['if (facts.personDisabled) return', 'if (false) return'],
    ['.clientDeleted || (needsResource(scopes) && !facts.isApplication)', '.clientDeleted'],
    [
      'facts.clientDeleted || (needsResource(scopes) && !facts.isApplication)',
      'needsResource(scopes) && !facts.isApplication',
    ],
    ["if (facts.clientDisabled) return 'the client is disabled'", ''],
    ['return facts.featureOff ? ', 'return false ? '],
    ['if (grant.endedBecause) return', 'if (false) return'],
    ['return grant.expiresAt <= nowMs ?', 'return grant.expiresAt < nowMs ?'],
    ['return grant.expiresAt <= nowMs ?', 'return grant.expiresAt > nowMs ?'],
    ['grant.siteId !== undefined || needsResource(scopes)', 'grant.siteId !== undefined'],
    ['grant.siteId !== undefined || needsResource(scopes)', 'needsResource(scopes)'],
    ['if (atSite && roles.length === 0) return', 'if (false) return'],
    ['return needsOperator(scopes) && !operates(roles)', 'return false'],
  ]),
  ...inFile('oauth/token/claims.ts', 'access', [
    ['.personId === personId && facts.grant.clientId === clientId', '.personId === personId'],
    ['facts.grant.personId === personId && facts.grant.clientId ===', 'facts.grant.clientId ==='],
  ]),
  ...inFile('directory/sites/site-choice.ts', 'access', [
    ["new Set(['owner', 'admin'])", "new Set(['owner', 'admin', 'student'])"],
    ["new Set(['owner', 'admin'])", "new Set(['owner', 'admin', 'lecturer'])"],
    ['.some((role) => operatorRoles.has(role))', '.every((role) => operatorRoles.has(role))'],
  ]),
  ...inFile('oauth/grants/allowed-scopes.ts', 'released-claims', [
    ['scope) => !refused.has(scope) || (resource === undefined && scope === OPENID)', ') => true'],
    [
      'const given = scopes(resource === undefined ? openid?.scope : resources?.[resource])',
      "const given = scopes([openid?.scope, ...Object.values(resources ?? {})].join(' '))",
    ],
  ]),
  ...inFile('oauth/token/refresh-token-use.ts', 'families', [
    ['if (family.ended) return', 'if (false) return'],
    ['if (!family.token.refreshes) return', 'if (false) return'],
    ['if (generation > family.generation) {', 'if (generation > family.generation + 1) {'],
    ['if (generation < family.generation) {', 'if (generation < family.generation - 1) {'],
    ['replacedAt !== undefined && nowMs - replacedAt <=', 'nowMs - (replacedAt ?? nowMs) <='],
    ['<= lifetimes.refreshRetrySeconds * 1000', '<= lifetimes.refreshRetrySeconds * 10_000'],
    ['nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 1000', 'true'],
    ['return endOf(family, lifetimes) <= nowMs', 'return endOf(family, lifetimes) < nowMs'],
    ['issuedAt + refreshTokenSeconds * 1000,', 'startedAt + refreshTokenAbsoluteSeconds * 1000,'],
    ['startedAt + refreshTokenAbsoluteSeconds *', 'issuedAt + refreshTokenAbsoluteSeconds *'],
    ['nowMs - step <= refreshRetrySeconds * 1000)', 'true)'],
    ['return [...recent, nowMs].slice(-STEPS_MAX)', 'return [...recent, nowMs]'],
  ]),
  ...inFile('oauth/token/refresh-token.ts', 'hostile/grant token', [
    ['if (named && audience === undefined) throw resourceNotGranted()', ''],
    ['if (clientId !== oidc.client.clientId)', 'if (false)'],
    ['if (audience !== undefined && audience !== resources.audience) {', 'if (false) {'],
    ['if (lost !== undefined) throw invalidGrant(lost)', ''],
    ['granted = held.filter((scope) => allowed.includes(scope))', 'granted = [...held]'],
    ['if (missing.length > 0) throw scopeNotGranted(missing)', ''],
    ['return granted.filter((scope) => scopes.includes(scope))', 'return granted'],
    ["if (scopes.length === 0) throw noKnownScope('scope contains no known scope')", ''],
    [') throw await endReused(ctx, grant.id, grants)', ") throw invalidGrant('used')"],
    [".kind === 'lost') throw invalidGrant(use.reason)", ".kind === 'lost') return undefined"],
    [
      'if (repeats !== undefined) return { family, replacedAt: repeats }',
      '',
      'the store refuses the step, and one more query finds the retry',
    ],
    ['generation = isKept ? use.generation : use.generation + 1', 'generation = use.generation'],
    [
      'use.granted.filter((scope) => allowed.includes(scope))',
      'use.granted',
      'second guard: a later refusal is also removed from the grant',
    ],
  ]),
  ...inFile('oauth/token/refresh-binding.ts', 'hostile/grant token', [
    [
      "await grants.store.end({ id: grantId }, 'a replaced refresh token was used again', callerOf(ctx))",
      '',
    ],
  ]),
  ...inFile('oauth/token/refresh-binding.ts', 'dpop', [
    ['comesBack ? await endReused(ctx, grant.id, grants) : invalidGrant(', 'invalidGrant('],
    ["(use.kind === 'retry' && bound !== undefined)", 'false'],
    ['if (jkt === bindTo) return', ''],
    ["if (bound === undefined && !demanded) return { kind: 'keep' }", "return { kind: 'keep' }"],
    ["== undefined && !demanded) return { kind: 'keep' }", "== undefined) return { kind: 'keep' }"],
    ["if (bound === proven) return { kind: 'keep' }", ''],
    ["if (bound === undefined || !isPublic) return { kind: 'bind',", "return { kind: 'bind',"],
  ]),
  ...inFile('oauth/token/resource-indicators.ts', 'resources hostile/grant hostile/authorization', [
    ['scheme.toLowerCase() === protocol && origins.has(authority.', 'origins.has(authority.'],
    [') === protocol && origins.has(authority.toLowerCase()) && paths', ') === protocol && paths'],
    ['.has(authority.toLowerCase()) && paths.has(path)', '.has(authority.toLowerCase())'],
    ['    throw unknownResource(resources.audience)\n  }\n  return named', '  }\n  return named'],
    ['named.some((resource)', 'named.every((resource)'],
    ['if (needsResource(scopes)) throw resourceRequired(resources.audience)', ''],
    [
      'if (resources.canonical(resource) === undefined) throw unknownResource(resources.audience)\n      return {',
      'return {',
    ],
  ]),
  ...inFile('oauth/token/authorization-code.ts', 'token hostile/grant hostile/token', [
    ['const REPEAT_SECONDS = 5', 'const REPEAT_SECONDS = 5_000'],
  ]),
  ...inFile('oauth/token/tokens.ts', 'hostile/token-kind hostile/grant resource-server', [
    ['if (!facts?.family || !claim.isGenuine(facts.family)) return', 'if (!facts?.family) return'],
    ['scopes: claim.scopesOf(token.scopes),', 'scopes: token.scopes,'],
  ]),
  ...inFile(
    'resource/resource-server/judge-token.ts',
    'resource-server hostile/token-kind introspection-answers',
    [
      ["if (token.expiresAt * 1000 <= nowMs) return 'the token has expired'", ''],
      [
        "return use.kind === 'good' ? undefined : 'the refresh token was replaced or is no longer valid'",
        'return undefined',
      ],
      ['return unbound\n    ? undefined', 'return true\n    ? undefined'],
      ["if (token.audience !== undefined) return 'the token was issued for another origin'", ''],
      ['if (token.audience === audience) return', 'if (token.audience !== "") return'],
      ['if (lost !== undefined) return lost', ''],
      ["return token.family.ended ? 'the token was revoked' : undefined", ''],
    ],
  ),
  ...inFile('resource/resource-server/verify-bearer.ts', 'resource-server hostile/token-kind', [
    ['if (authorization.length > 1)', 'if (authorization.length > 9)'],
    ['needed.every(isHeld)', 'needed.some(isHeld)'],
    ['sufficient?.some(isHeld)', 'sufficient?.some(() => true)'],
    ['/^(bearer|dpop) +([^ ]+)$/i', '/^(bearer|dpop|token)? *([^ ]+)$/i'],
    ["return { kind: 'unavailable', cause }", 'return invalid(String(cause))'],
  ]),
  ...inFile('resource/resource-server/binding.ts', 'dpop', [
    [
      "return scheme === 'Bearer' ? {} : refused('an unbound token was sent with the scheme DPoP')",
      'return {}',
    ],
    [") return refused('the token is bound to a key: send it with a DPoP proof')", ') return {}'],
    ['if (proof.thumbprint === jkt) return { nextNonce }', 'return { nextNonce }'],
  ]),
  ...inFile('oauth/clients/registration.ts', 'registration hostile/registration', [
    ['.length > 0 && redirectUris.every(isLoopback', '.length > 0 && redirectUris.some(isLoopback'],
    ['redirectUris.length > 0 && redirectUris.every(isLoopback)', 'redirectUris.every(isLoopback)'],
    [
      'if (isForeign || (redirectUris.length > 0 && known.length === 0))',
      'if (redirectUris.length > 0 && known.length === 0)',
    ],
    ['if (isForeign || (redirectUris.length > 0 && known.length === 0))', 'if (isForeign)'],
    [
      "if ('problem' in read) throw invalidClientMetadata(read.problem)",
      "if ('problem' in read) return decideRegistration({ ...body, client_name: 'x' }, policy)",
    ],
    ["if (!grantTypes.includes('authorization_code')) {", 'if (false) {'],
    ["if (body.response_types && !body.response_types.includes('code')) {", 'if (false) {'],
    ["return (kept.length > 0 ? kept : open).join(' ')", "return [...asked].join(' ')"],
  ]),
  ...inFile(
    'platform/http/redirect-uri.ts',
    'redirect-uri registration-loopback metadata-document hostile/registration',
    [
      ['(host) || !hosts.includes(host)) return false\n  return', '(host)) return false\n  return'],
      ['Number(port) <= 65_535 && URL.parse(uri)?.pathname === path', 'Number(port) <= 65_535'],
      [
        'Number(port) <= 65_535 && URL.parse(uri)?.pathname ===',
        'URL.parse(uri)?.pathname ===',
        'the URL parser refuses such ports too',
      ],
      ['return host === listedHost && path === listedPath', 'return host === listedHost'],
      ['return host === listedHost && path === listedPath', 'return path === listedPath'],
      [
        "== '' && !schemesOfBrowsers.has(scheme) && !uri.includes('#'",
        "== '' && !uri.includes('#'",
      ],
      ['url.href === uri &&\n    url.host === document.host &&', 'url.href === uri &&'],
      ["url?.protocol === 'https:' &&\n    url.href === uri &&", "url?.protocol === 'https:' &&"],
      ["(url.protocol === 'http:') return isLoopback", "(url.protocol === 'http:') return true"],
      ["return applicationType === 'web' || !isLoopback", 'return true'],
      ["return applicationType === 'native' && isAppAddress(uri)", 'return isAppAddress(uri)'],
    ],
  ),
  ...inFile('platform/http/redirect-uri.ts', 'platform-callbacks', [
    ['const segment = /^[A-Za-z0-9_-]{1,128}$/', 'const segment = /^.{1,128}$/'],
    ['const segment = /^[A-Za-z0-9_-]{1,128}$/', 'const segment = /^[A-Za-z0-9_-]+$/'],
    [
      '!uri.startsWith(before) || !uri.endsWith(after)',
      '!uri.startsWith(before)',
      'no platform has anything after the segment',
    ],
  ]),
  ...inFile(
    'oauth/clients/authenticate-client.ts',
    'introspection-answers hostile/client-endpoint private-key-jwt',
    [
      [
        "client.authMethod !== (assertion === undefined ? method : 'private_key_jwt')) {",
        'false) {',
      ],
      ['secret !== undefined && !matchesSecret(secret, client.secretDigests ?? [])', 'false'],
      ['if (refused !== undefined) return { client, refused }', ''],
    ],
  ),
  ...inFile('oauth/clients/secret.ts', 'introspection-answers hostile/client-endpoint', [
    ['.length === digest.length && timingSafeEqual(expected, digest)', '.length === digest.length'],
  ]),
  ...inFile('pages/relying-party/sign-in.ts', 'own-sign-in', [
    [', client, answer, pending.state)', ", client, answer, answer.get('state') ?? undefined)"],
    ['expectedNonce: pending.nonce,', 'expectedNonce: undefined,'],
    ['await validateApplicationLevelSignature(server, response, options)', ''],
    [
      'authorization_response_iss_parameter_supported: true,',
      'authorization_response_iss_parameter_supported: false,',
      'a foreign issuer is refused either way, and a missing one in test/hostile/page',
    ],
    ['pending.verifier,\n    options,', "'a'.repeat(43),\n    options,"],
    ['[clockTolerance]: 0,', '[clockTolerance]: 3600,'],
    ['if (response.status === 503) throw storageUnavailable(await response.text())', ''],
  ]),
  ...inFile('pages/relying-party/signed-in-pages.ts', 'hostile/page', [
    ["if (answer.get('state') !== pending.state) return seeOther(ctx, pending.returnTo)", ''],
    ['checkFormToken(ctx, session.csrf)', ''],
    ['returnTo.length > RETURN_TO_CHARACTERS_MAX ? areaOf(ctx.path) : returnTo', 'returnTo'],
    [
      'if (!session) return seeOther(ctx, await startSignIn(ctx, ports, ctx.url))',
      "if (!session) return send(ctx, await show(ctx as PageContext, { person: { id: 'per_olivia' } } as unknown as PageSession))",
    ],
  ]),
  ...inFile('oauth/authorization/browser-session.ts', 'sessions', [
    ['if (given.authenticatedAt <= (person.signedOutAt ?? 0)) return', 'if (false) return'],
    ['if (!person.session) session.uid =', 'if (false) session.uid ='],
    ["|| entities.Interaction?.prompt.name !== 'login') return", ') return'],
  ]),
  ...inFile('directory/people/person-store.ts', 'sessions restored', [
    ['Number(expires_at) > now() &&', ''],
    ['&& authenticatedAt > signedOutAt', ''],
    [
      ".onRef('s.person_id', '=', 'person.id')",
      '',
      'second guard: the engine starts a new session for another person',
    ],
  ]),
  ...inFile('directory/people/browser-sessions.ts', 'sessions', [
    ['Math.min(authenticatedAt + sessionSeconds * 1000, idleUntil)', 'idleUntil'],
    [".where('person_id', '=', personId)\n        .where('id', others", ".where('id', others"],
  ]),
  ...inFile('pages/relying-party/signed-in-pages.ts', 'sessions', [
    ['now() < session.authenticatedAt + freshSeconds * 1000', 'true'],
  ]),
  ...inFile('pages/relying-party/page-session.ts', 'sessions', [
    [
      "const isLater = browser.authenticatedAt > Number(record['authenticatedAt'])",
      'const isLater = false',
    ],
  ]),
  ...inFile('pages/relying-party/page-session.ts', 'account hostile/page', [
    [
      '.get(cookie, { signed: true })\n      const',
      '.get(cookie, { signed: false })\n      const',
      'second guard: the id is 256 random bits, stored as a digest',
    ],
  ]),
  ...inFile('platform/http/page-form.ts', 'hostile/page hostile/interaction', [
    ["if (site !== '' && site !== 'same-origin' && site !== 'none') throw foreignForm()", ''],
    ['!== expected.length || !timingSafeEqual(sent, expected)', '!== expected.length'],
  ]),
  ...inFile('platform/store/cursor.ts', 'cursors hostile/api', [
    [
      'const genuine = secrets.some((key) => timingSafeEqual(mac, macOf(content, scope, key)))',
      'const genuine = mac.length === MAC_BYTES',
    ],
    ['update(JSON.stringify(scope))', "update('')"],
    ['update(JSON.stringify(scope))', "update(scope.join(''))"],
    ['if (sealed.length > SEALED_LENGTH_MAX) return undefined', '', 'it only bounds work'],
    ["mac.length < MAC_BYTES || bytes.toString('base64url') !== sealed", 'mac.length < MAC_BYTES'],
    ['return hmac.update(content).digest()', 'return hmac.digest()'],
  ]),
  ...inFile('platform/store/keyset.ts', 'admin-lists member-lists', [
    ["direction === 'asc' ? '>' : '<'", "direction === 'asc' ? '>=' : '<='"],
    ['.limit(first + 1)', '.limit(first)'],
    ['hasNextPage: found.length > first', 'hasNextPage: found.length >= first'],
    [": wanted === 'OLDEST' ? 'asc' : 'desc'", ": wanted === 'OLDEST' ? 'desc' : 'asc'"],
  ]),
  ...inFile('platform/http/client-addresses.ts', 'metadata-document', [
    ['url.href !== clientId || url.origin + url.pathname !== clientId', 'url.href !== clientId'],
    ["url.port !== '' || url.pathname === '/' || !", "url.pathname === '/' || !"],
    ["= '' || url.pathname === '/' || !isPublicName(url.hostname)", "= '' || url.pathname === '/'"],
  ]),
  ...inFile('oauth/clients/metadata-document.ts', 'metadata-document', [
    ["if (read.client_id !== address.href) return 'its client_id differs from its URL'", ''],
    ['policy.openRegistration || policy.hosts.includes(url.hostname)', 'true'],
    ["if (preferred.startsWith('client_secret')) return false", ''],
    ['isLoopback(uri) || isUnderHost(uri, address)', 'true'],
    ['JSON.stringify([name, redirectUris.toSorted()])', 'JSON.stringify([name])'],
    ['JSON.stringify([name, redirectUris.toSorted()]', 'JSON.stringify([redirectUris.toSorted()]'],
  ]),
  ...inFile('oauth/authorization/decide-consent.ts', 'authorize metadata-document-flow', [
    ['if (others.length > 0 || !isApproved(document, site)) return true', ''],
    ["return isOfConnection || !redirectUri.startsWith('https:')", 'return isOfConnection'],
    ["isOfConnection || !redirectUri.startsWith('https:')", "!redirectUri.startsWith('https:')"],
  ]),
  ...inFile(
    'oauth/authorization/prompts.ts',
    'authorize hostile/interaction account metadata-document-flow',
    [
      ["Boolean(oidc.account && oidc.account['session'] === undefined)", 'false'],
      ["if (decision.kind === 'refused') throw", 'if (false) throw'],
    ],
  ),
  ...inFile('oauth/clients/proofs.ts', 'private-key-jwt', [
    ['return iat !== undefined && iat > nowMs / 1000 + aheadMax', 'return false'],
  ]),
  ...inFile('directory/people/authenticate.ts', 'sign-in', [
    ['account = (await store.findCredentials(login)).account\n', '\n'],
    ["if (disabled) return { kind: 'refused', why: 'disabled account', personId }", ''],
  ]),
  ...inFile('directory/people/authenticate.ts', 'password-hook', [
    [
      "answer === 'valid' && isAsked &&",
      "answer === 'valid' &&",
      'storeHash replaces no hash; the condition saves the work',
    ],
    ["answer === 'valid' && isAsked", 'isAsked'],
    ['await refusalTime()', ''],
    ["answer === 'unavailable' ? { kind: 'unavailable' } : refused", 'refused'],
  ]),
  ...inFile('directory/people/credential-store.ts', 'password-hook brought-hashes', [
    [".where('password_hash', from === undefined ? 'is' : '=', from ?? null)", ''],
    [".where('disabled_at', 'is', null)", ''],
  ]),
  ...inFile('directory/people/password-formats.ts', 'brought-hashes', [
    ['Number(cost) > BCRYPT_COST_MAX', 'false'],
    ['N * r * p > SCRYPT_WORK_MAX ||', ''],
    [' * Math.ceil(bytes / (DIGEST_BYTES[digest] ?? 1))', ''],
    [' || !hash.isCurrent', ''],
  ]),
  ...inFile('ops/import/write-batch.ts', 'brought-hashes', [
    ['await keepNewerHashes(trx, rows)', ''],
  ]),
  ...inFile('school/members/invitations.ts', 'invitations', [
    ['if (Number(events) < max) return', 'if (Number(events) <= max) return'],
  ]),
  ...inFile('school/members/joining.ts', 'joining', [
    ["return held.includes('owner') || !roles.includes('owner')", 'return true'],
    [
      "if (!(await links.use(trx, link, nowMs))) return 'gone'",
      'await links.use(trx, link, nowMs)',
    ],
    ['if (!operates(held) || (await disabled.executeTakeFirst())) return false', ''],
  ]),
  ...inFile('directory/people/link-requests.ts', 'joining', [
    ['const email = canonicalEmail(request.login)', 'const email = request.login'],
  ]),
  ...inFile('platform/store/oauth-state.ts', 'store/state', [
    ["new Set([...onceModels, 'Session'])", 'new Set(onceModels)'],
    ["commands.set(uidKey(uid), storedId(model, id), 'PX'", "commands.set(uidKey(uid), id, 'PX'"],
  ]),
  ...inFile('oauth/authorization/engine-adapter.ts', 'hostile/interaction', [
    ['{ ...session, cookie: undefined }', 'session'],
    ['return isOther ? undefined : record', 'return record'],
  ]),
  ...inFile('oauth/authorization/engine-interactions.ts', 'hostile/interaction', [
    [
      "if (details.prompt.details['browser'] !== visitors.digestOf(ctx)) throw interactionGone()",
      '',
    ],
  ]),
  ...inFile('oauth/token/authorization-code.ts', 'clean-up', [
    [
      'return Math.max(2 * accessTokenSeconds, authorizationCodeSeconds + CLOCKS_DIFFER_SECONDS)',
      'return 2 * accessTokenSeconds',
    ],
  ]),
  ...inFile('platform/outbox/outbox.ts', 'store/outbox', [
    ["    .where('due_at', '<=', nowMs)\n    .returningAll()", '    .returningAll()'],
    ['due_at: nowMs + CLAIM_MS', 'due_at: nowMs'],
    ['WAITS_SECONDS[attempts - 1]', 'WAITS_SECONDS[attempts]'],
  ]),
  ...inFile('platform/outbox/outbox.ts', 'mail', [
    ['failure instanceof Undeliverable || isOld', 'failure instanceof Undeliverable'],
    ['failure instanceof Undeliverable || isOld', 'isOld'],
    ['setTimeout(() => cut.abort(), STOP_WITHIN_MS)', 'setTimeout(() => {}, STOP_WITHIN_MS)'],
  ]),
  ...inFile('directory/mail/smtp.ts', 'mail', [
    ['/^(RCPT TO|DATA)$/', '/^(MAIL FROM|RCPT TO|DATA)$/'],
    ['(responseCode ?? 0) >= 500', '(responseCode ?? 0) >= 400'],
    ['requireTLS: !secure && !isHere', 'requireTLS: false'],
    ['rejectUnauthorized: !isHere', 'rejectUnauthorized: false'],
  ]),
  ...inFile('directory/mail/mail.ts', 'mail', [
    ['(linkId !== undefined && !link) ||', ''],
    ['if (!isMailAddress(letter.to))', 'if (false)'],
    ['canonicalEmail(to)', 'to'],
    ['if (attempt === 1) await takeLimit', 'if (attempt === 0) await takeLimit'],
    ['mail.to ?? person?.email', 'mail.to'],
    ['replace(/[\\p{Cc}', 'replace(/[\\p{Lu}'],
  ]),
  ...inFile('directory/mail/notices.ts', 'mail', [
    ["    .where('granted_at', '<', createdAt)\n", ''],
    ['Boolean(row.used) === (clientId === undefined)', 'true'],
  ]),
  ...inFile('directory/mail/notices.ts', 'mail', [
    ['if (enabled) await queueMail(trx', 'await queueMail(trx'],
    ['if (!enabled) return', ''],
  ]),
  ...inFile('directory/mail/mail-folder.ts', 'mail', [
    ['.filter((name) => FILE_NAME.test(name))', ''],
    ['{ mode: 0o600 }', '{}'],
  ]),
]
