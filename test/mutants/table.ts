/** A line that decides, and the same line deciding wrongly. */
export interface Mutant {
  readonly file: string
  /** Exactly once in the file. */
  readonly text: string
  readonly replacement: string
  /** The test files of which one has to fail. */
  readonly tests: readonly string[]
  /** Why it may live: nothing can be seen of it from outside. */
  readonly lives?: string
}

type Change = readonly [text: string, replacement: string, lives?: string]

/** The mutants of one file, with the tests that are for it. */
function inFile(file: string, tests: readonly string[], changes: readonly Change[]): Mutant[] {
  return changes.map(([text, replacement, lives]) => ({
    file: `src/${file}`,
    text,
    replacement,
    tests: tests.map((test) => `test/${test}.test.ts`),
    ...(lives !== undefined && { lives }),
  }))
}

export const mutants: readonly Mutant[] = [
  ...inFile(
    'directory/scopes/policy.ts',
    ['scopes'],
    [
      [
        "if (scope.audience === 'identity') return true",
        "if (scope.audience === 'identity') return false",
      ],
      [
        "if (scope.audience === 'member') return origin === 'site'",
        "if (scope.audience === 'member') return true",
      ],
      [
        "if (scope.audience === 'member') return origin === 'site'",
        "if (scope.audience === 'member') return false",
      ],
      ["if (origin === 'site') return false", "if (origin === 'loopback') return false"],
      ["return origin !== 'document' || reviewed || scope.access === 'read'", 'return true'],
      [
        "return origin !== 'document' || reviewed || scope.access === 'read'",
        "return origin !== 'document' || reviewed",
      ],
      [
        "return origin !== 'document' || reviewed || scope.access === 'read'",
        "return origin !== 'document' || scope.access === 'read'",
      ],
      [
        "scope.access === 'identity' || !chosen || chosen.includes(scope.name)",
        "scope.access === 'identity' || !chosen || true",
      ],
      ['isOpen(scope, origin, reviewed === true)', 'isOpen(scope, origin, reviewed !== false)'],
      ["return hasAudience(scopes, 'operator')", "return hasAudience(scopes, 'identity')"],
    ],
  ),
  ...inFile(
    'directory/scopes/policy.ts',
    ['scopes', 'access'],
    [
      ["return hasAudience(scopes, 'member')", "return hasAudience(scopes, 'operator')"],
      ['findScope(name)?.audience === audience', 'findScope(name)?.audience !== audience'],
    ],
  ),
  ...inFile(
    'oauth/grants/access.ts',
    ['access'],
    [
      ["if (!facts) return 'the grant does not exist'", "if (!facts) throw new Error('gone')"],
      ['if (facts.personDisabled) return', 'if (false) return'],
      [
        'facts.clientDeleted || (needsResource(scopes) && !facts.isApplication)',
        'facts.clientDeleted',
      ],
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
    ],
  ),
  ...inFile(
    'oauth/token/claims.ts',
    ['access'],
    [
      [
        'facts.grant.personId === personId && facts.grant.clientId === clientId',
        'facts.grant.personId === personId',
      ],
      [
        'facts.grant.personId === personId && facts.grant.clientId === clientId',
        'facts.grant.clientId === clientId',
      ],
    ],
  ),
  ...inFile(
    'directory/sites/site-choice.ts',
    ['access'],
    [
      ["new Set(['owner', 'admin'])", "new Set(['owner', 'admin', 'student'])"],
      ["new Set(['owner', 'admin'])", "new Set(['owner', 'admin', 'lecturer'])"],
      [
        'roles.some((role) => operatorRoles.has(role))',
        'roles.every((role) => operatorRoles.has(role))',
      ],
    ],
  ),
  ...inFile(
    'oauth/grants/allowed.ts',
    ['allowed'],
    [
      [
        '(scope) => !refused.has(scope) || (resource === undefined && scope === OPENID)',
        '() => true',
      ],
      [
        'const given = scopes(resource === undefined ? openid?.scope : resources?.[resource])',
        "const given = scopes([openid?.scope, ...Object.values(resources ?? {})].join(' '))",
      ],
    ],
  ),
  ...inFile(
    'oauth/token/refresh-token-use.ts',
    ['families'],
    [
      ['if (family.ended) return', 'if (false) return'],
      ['if (!family.token.refreshes) return', 'if (false) return'],
      ['if (generation > family.generation) {', 'if (generation > family.generation + 1) {'],
      ['if (generation < family.generation) {', 'if (generation < family.generation - 1) {'],
      ['replacedAt !== undefined && nowMs - replacedAt <=', 'nowMs - (replacedAt ?? nowMs) <='],
      [
        'nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 1000',
        'nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 10_000',
      ],
      ['nowMs - replacedAt <= lifetimes.refreshRetrySeconds * 1000', 'true'],
      ['return endOf(family, lifetimes) <= nowMs', 'return endOf(family, lifetimes) < nowMs'],
      ['issuedAt + refreshTokenSeconds * 1000,', 'startedAt + refreshTokenAbsoluteSeconds * 1000,'],
      [
        'startedAt + refreshTokenAbsoluteSeconds * 1000,',
        'issuedAt + refreshTokenAbsoluteSeconds * 1000,',
      ],
      ['nowMs - step <= refreshRetrySeconds * 1000)', 'true)'],
      ['return [...recent, nowMs].slice(-STEPS_MAX)', 'return [...recent, nowMs]'],
    ],
  ),
  ...inFile(
    'oauth/token/refresh-token.ts',
    ['hostile/grant', 'token'],
    [
      ['if (named && audience === undefined) throw resourceNotGranted()', ''],
      ["if (clientId !== oidc.client.clientId) throw invalidGrant('another client holds it')", ''],
      ['if (audience !== undefined && audience !== resources.audience) {', 'if (false) {'],
      ['if (lost !== undefined) throw invalidGrant(lost)', ''],
      [
        'const granted = held.filter((scope) => allowed.includes(scope))',
        'const granted = [...held]',
      ],
      ['if (missing.length > 0) throw scopeNotGranted(missing)', ''],
      ['return granted.filter((scope) => scopes.includes(scope))', 'return granted'],
      ["if (scopes.length === 0) throw noKnownScope('the scope names none that is known')", ''],
      [
        "if (use.kind === 'reused') throw await endReused(ctx, grant.id, grants)",
        "if (use.kind === 'reused') throw invalidGrant('used')",
      ],
      [
        "if (use.kind === 'lost') throw invalidGrant(use.reason)",
        "if (use.kind === 'lost') return undefined",
      ],
      [
        'if (repeats !== undefined) return { family, replacedAt: repeats }',
        '',
        'the step that follows is refused by the store, and the retry is found again with one query more',
      ],
      [
        'const generation = isKept ? use.generation : use.generation + 1',
        'const generation = use.generation',
      ],
      [
        'use.granted.filter((scope) => allowed.includes(scope))',
        'use.granted',
        'what a person refused later is taken out of the grant as well; this is the second of two guards',
      ],
    ],
  ),
  ...inFile(
    'oauth/token/refresh-binding.ts',
    ['hostile/grant', 'token'],
    [
      [
        "await grants.store.end({ id: grantId }, 'a used refresh token came back', callerOf(ctx))",
        '',
      ],
    ],
  ),
  ...inFile(
    'oauth/token/refresh-binding.ts',
    ['dpop'],
    [
      [
        'throw comesBack ? await endReused(ctx, grant.id, grants) : invalidGrant(choice.reason)',
        'throw invalidGrant(choice.reason)',
      ],
      ["(use.kind === 'retry' && bound !== undefined)", 'false'],
      ['if (jkt === bindTo) return', ''],
      ["if (bound === undefined && !demanded) return { kind: 'keep' }", "return { kind: 'keep' }"],
      [
        "if (bound === undefined && !demanded) return { kind: 'keep' }",
        "if (bound === undefined) return { kind: 'keep' }",
      ],
      ["if (bound === proven) return { kind: 'keep' }", ''],
      [
        "if (bound === undefined || !isPublic) return { kind: 'bind', jkt: proven }",
        "return { kind: 'bind', jkt: proven }",
      ],
    ],
  ),
  ...inFile(
    'oauth/token/resource-indicators.ts',
    ['resources', 'hostile/grant', 'hostile/authorization'],
    [
      [
        'scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase()) && paths.has(path)',
        'origins.has(authority.toLowerCase()) && paths.has(path)',
      ],
      [
        'scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase()) && paths.has(path)',
        'scheme.toLowerCase() === protocol && paths.has(path)',
      ],
      [
        'scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase()) && paths.has(path)',
        'scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase())',
      ],
      ['    throw unknownResource(resources.audience)\n  }\n  return named', '  }\n  return named'],
      ['named.some((resource)', 'named.every((resource)'],
      ['if (needsResource(scopes)) throw resourceRequired(resources.audience)', ''],
      [
        'if (resources.canonical(resource) === undefined) throw unknownResource(resources.audience)\n      return {',
        'return {',
      ],
    ],
  ),
  ...inFile(
    'oauth/token/authorization-code.ts',
    ['token', 'hostile/grant', 'hostile/token'],
    [['const REPEAT_SECONDS = 5', 'const REPEAT_SECONDS = 5_000']],
  ),
  ...inFile(
    'oauth/token/tokens.ts',
    ['hostile/token-kind', 'hostile/grant', 'resource-server'],
    [
      [
        'if (!facts?.family || !claim.isGenuine(facts.family)) return undefined',
        'if (!facts?.family) return undefined',
      ],
      ['scopes: claim.scopesOf(token.scopes),', 'scopes: token.scopes,'],
    ],
  ),
  ...inFile(
    'resource/resource-server/judge-token.ts',
    ['resource-server', 'hostile/token-kind', 'introspect'],
    [
      ["if (token.expiresAt * 1000 <= nowMs) return 'the token has expired'", ''],
      ["return use.kind === 'good' ? undefined : 'the refresh token was used'", 'return undefined'],
      ['return unbound\n    ? undefined', 'return true\n    ? undefined'],
      ["if (token.audience !== undefined) return 'the token was issued for another origin'", ''],
      [
        'if (token.audience === audience) return undefined',
        'if (token.audience !== "") return undefined',
      ],
      ['if (lost !== undefined) return lost', ''],
      ["return token.family.ended ? 'the token was revoked with its family' : undefined", ''],
    ],
  ),
  ...inFile(
    'resource/resource-server/verify-bearer.ts',
    ['resource-server', 'hostile/token-kind'],
    [
      ['if (authorization.length > 1)', 'if (authorization.length > 9)'],
      ['needed.every(isHeld)', 'needed.some(isHeld)'],
      ['sufficient?.some(isHeld)', 'sufficient?.some(() => true)'],
      ['/^(bearer|dpop) +([^ ]+)$/i', '/^(bearer|dpop|token)? *([^ ]+)$/i'],
      ["return { kind: 'unavailable', cause }", 'return invalid(String(cause))'],
    ],
  ),
  ...inFile(
    'resource/resource-server/binding.ts',
    ['dpop'],
    [
      ["return scheme === 'Bearer' ? {} : refused('the token is bound to no key')", 'return {}'],
      [
        "if (scheme === 'Bearer') return refused('the token is bound to a key and came without a proof')",
        "if (scheme === 'Bearer') return {}",
      ],
      ['if (proof.thumbprint === jkt) return { nextNonce }', 'return { nextNonce }'],
    ],
  ),
  ...inFile(
    'oauth/clients/registration.ts',
    ['registration', 'hostile/registration'],
    [
      [
        'redirectUris.length > 0 && redirectUris.every(isLoopback)',
        'redirectUris.length > 0 && redirectUris.some(isLoopback)',
      ],
      [
        'redirectUris.length > 0 && redirectUris.every(isLoopback)',
        'redirectUris.every(isLoopback)',
      ],
      [
        'if (isForeign || (redirectUris.length > 0 && known.length === 0)) return undefined',
        'if (redirectUris.length > 0 && known.length === 0) return undefined',
      ],
      [
        'if (isForeign || (redirectUris.length > 0 && known.length === 0)) return undefined',
        'if (isForeign) return undefined',
      ],
      [
        "if ('problem' in read) throw invalidClientMetadata(read.problem)",
        "if ('problem' in read) return decideRegistration({ ...body, client_name: 'x' }, policy)",
      ],
      ["if (!grantTypes.includes('authorization_code')) {", 'if (false) {'],
      ["if (body.response_types && !body.response_types.includes('code')) {", 'if (false) {'],
      ["return (kept.length > 0 ? kept : open).join(' ')", "return [...asked].join(' ')"],
    ],
  ),
  ...inFile(
    'platform/http/redirect-uri.ts',
    ['redirect-uri', 'registration-loopback', 'metadata-document', 'hostile/registration'],
    [
      [
        'if (!isLoopbackHost(host) || !hosts.includes(host)) return false\n  return Number(port)',
        'if (!isLoopbackHost(host)) return false\n  return Number(port)',
      ],
      [
        'return Number(port) <= 65_535 && URL.parse(uri)?.pathname === path',
        'return Number(port) <= 65_535',
      ],
      [
        'return Number(port) <= 65_535 && URL.parse(uri)?.pathname === path',
        'return URL.parse(uri)?.pathname === path',
        'a parser takes no such port either',
      ],
      ['return host === listedHost && path === listedPath', 'return host === listedHost'],
      ['return host === listedHost && path === listedPath', 'return path === listedPath'],
      [
        "return scheme !== '' && !schemesOfBrowsers.has(scheme) && !uri.includes('#') && URL.canParse(uri)",
        "return scheme !== '' && !uri.includes('#') && URL.canParse(uri)",
      ],
      ['url.href === uri &&\n    url.host === document.host &&', 'url.href === uri &&'],
      ["url?.protocol === 'https:' &&\n    url.href === uri &&", "url?.protocol === 'https:' &&"],
      [
        "if (url.protocol === 'http:') return isLoopback",
        "if (url.protocol === 'http:') return true",
      ],
      ["return applicationType === 'web' || !isLoopback", 'return true'],
      ["return applicationType === 'native' && isAppAddress(uri)", 'return isAppAddress(uri)'],
    ],
  ),
  ...inFile(
    'platform/http/redirect-uri.ts',
    ['platform-callbacks'],
    [
      ['const segment = /^[A-Za-z0-9_-]{1,128}$/', 'const segment = /^.{1,128}$/'],
      ['const segment = /^[A-Za-z0-9_-]{1,128}$/', 'const segment = /^[A-Za-z0-9_-]+$/'],
      [
        '!uri.startsWith(before) || !uri.endsWith(after)',
        '!uri.startsWith(before)',
        'what follows the segment is compared by its length only, and no platform has anything there',
      ],
    ],
  ),
  ...inFile(
    'oauth/clients/authenticate-client.ts',
    ['introspection-answers', 'hostile/client-endpoint', 'private-key-jwt'],
    [
      [
        "if (client.authMethod !== (assertion === undefined ? method : 'private_key_jwt')) {",
        'if (false) {',
      ],
      ['secret !== undefined && !matchesSecret(secret, client.secretDigests ?? [])', 'false'],
      ['if (refused !== undefined) return { client, refused }', ''],
    ],
  ),
  ...inFile(
    'oauth/clients/secret.ts',
    ['introspection-answers', 'hostile/client-endpoint'],
    [
      [
        'expected.length === digest.length && timingSafeEqual(expected, digest)',
        'expected.length === digest.length',
      ],
    ],
  ),
  ...inFile(
    'pages/relying-party/sign-in.ts',
    ['own-sign-in'],
    [
      [
        'validateAuthResponse(server, client, answer, pending.state)',
        "validateAuthResponse(server, client, answer, answer.get('state') ?? undefined)",
      ],
      ['expectedNonce: pending.nonce,', 'expectedNonce: undefined,'],
      ['await validateApplicationLevelSignature(server, response, options)', ''],
      [
        'authorization_response_iss_parameter_supported: true,',
        'authorization_response_iss_parameter_supported: false,',
        'an answer with another issuer is refused either way; without one it is refused by the case of the pages',
      ],
      ['pending.verifier,\n    options,', "'a'.repeat(43),\n    options,"],
      ['[clockTolerance]: 0,', '[clockTolerance]: 3600,'],
      ['if (response.status === 503) throw storageUnavailable(await response.text())', ''],
    ],
  ),
  ...inFile(
    'pages/relying-party/signed-in-pages.ts',
    ['hostile/page'],
    [
      ["if (answer.get('state') !== pending.state) return seeOther(ctx, pending.returnTo)", ''],
      ['checkFormToken(ctx, session.csrf)', ''],
      ['ctx.url.length > RETURN_TO_CHARACTERS_MAX ? areaOf(ctx.path) : ctx.url', 'ctx.url'],
      [
        'if (!session) return await sendToSignIn(ctx, ports)',
        "if (!session) return send(ctx, await show(ctx as PageContext, { person: { id: 'per_olivia' } } as unknown as PageSession))",
      ],
    ],
  ),
  ...inFile(
    'pages/relying-party/page-session.ts',
    ['account', 'hostile/page'],
    [
      [
        'if (!person || person.sessionEnded || beganAt <= (person.signedOutAt ?? 0)) return undefined',
        'if (!person || person.sessionEnded) return undefined',
      ],
      [
        'const sessionId = ctx.cookies.get(cookie, { signed: true })\n      const record',
        'const sessionId = ctx.cookies.get(cookie, { signed: false })\n      const record',
        'the id is 256 random bits and the store knows its digest; the signature is a second guard',
      ],
    ],
  ),
  ...inFile(
    'platform/http/page-form.ts',
    ['hostile/page', 'hostile/interaction'],
    [
      ["if (site !== '' && site !== 'same-origin' && site !== 'none') throw foreignForm()", ''],
      [
        'sent.length !== expected.length || !timingSafeEqual(sent, expected)',
        'sent.length !== expected.length',
      ],
    ],
  ),
  ...inFile(
    'platform/store/cursor.ts',
    ['cursors', 'hostile/api'],
    [
      [
        'const genuine = secrets.some((key) => timingSafeEqual(mac, macOf(place, scope, key)))',
        'const genuine = mac.length === MAC_BYTES',
      ],
      ['update(JSON.stringify(scope))', "update('')"],
      ['update(JSON.stringify(scope))', "update(scope.join(''))"],
      [
        'if (cursor.length > CURSOR_LENGTH_MAX) return undefined',
        '',
        'it bounds work and decides nothing',
      ],
      [
        "mac.length < MAC_BYTES || bytes.toString('base64url') !== cursor",
        'mac.length < MAC_BYTES',
      ],
      ['return hmac.update(place).digest()', 'return hmac.digest()'],
    ],
  ),
  ...inFile(
    'platform/store/keyset.ts',
    ['cursors', 'member-lists'],
    [
      ["direction === 'asc' ? '>' : '<'", "direction === 'asc' ? '>=' : '<='"],
      ['.limit(first + 1)', '.limit(first)'],
      ['hasNextPage: found.length > first', 'hasNextPage: found.length >= first'],
      [
        "direction: wanted === 'OLDEST' ? 'asc' : 'desc'",
        "direction: wanted === 'OLDEST' ? 'desc' : 'asc'",
      ],
    ],
  ),
  ...inFile(
    'platform/http/client-addresses.ts',
    ['metadata-document'],
    [
      ['url.href !== clientId || url.origin + url.pathname !== clientId', 'url.href !== clientId'],
      [
        "url.port !== '' || url.pathname === '/' || !isPublicName(url.hostname)",
        "url.pathname === '/' || !isPublicName(url.hostname)",
      ],
      [
        "url.port !== '' || url.pathname === '/' || !isPublicName(url.hostname)",
        "url.port !== '' || url.pathname === '/'",
      ],
    ],
  ),
  ...inFile(
    'oauth/clients/metadata-document.ts',
    ['metadata-document'],
    [
      ["if (read.client_id !== address.href) return 'its client_id is not its address'", ''],
      ['policy.openRegistration || policy.hosts.includes(url.hostname)', 'true'],
      ["if (preferred.startsWith('client_secret')) return false", ''],
      ['isLoopback(uri) || isUnderHost(uri, address)', 'true'],
      ['JSON.stringify([name, redirectUris.toSorted()])', 'JSON.stringify([name])'],
      [
        'JSON.stringify([name, redirectUris.toSorted()])',
        'JSON.stringify([redirectUris.toSorted()])',
      ],
    ],
  ),
  ...inFile(
    'oauth/consent/decide-consent.ts',
    ['remembered-consent', 'metadata-document-flow'],
    [
      ['if (others.length > 0 || !isApproved(document, site)) return true', ''],
      ["return isOfConnection || !redirectUri.startsWith('https:')", 'return isOfConnection'],
      [
        "return isOfConnection || !redirectUri.startsWith('https:')",
        "return !redirectUri.startsWith('https:')",
      ],
    ],
  ),
  ...inFile(
    'oauth/authorization/prompts.ts',
    ['remembered-consent', 'hostile/interaction', 'account', 'metadata-document-flow'],
    [
      ["typeof signedOutAt === 'number' && beganAt <= Math.floor(signedOutAt / 1000)", 'false'],
      ["if (decision.kind === 'refused') throw", 'if (false) throw'],
    ],
  ),
  ...inFile(
    'oauth/keys/proofs.ts',
    ['private-key-jwt'],
    [['return iat !== undefined && iat > nowMs / 1000 + aheadMax', 'return false']],
  ),
  ...inFile(
    'directory/people/authenticate.ts',
    ['sign-in'],
    [
      ['if (now?.passwordHash !== account.passwordHash) {', 'if (false) {'],
      ["if (now?.disabled) return { kind: 'refused', why: 'disabled account', personId }", ''],
    ],
  ),
  ...inFile(
    'oauth/token/authorization-code.ts',
    ['clean-up'],
    [
      [
        'return Math.max(2 * accessTokenSeconds, authorizationCodeSeconds + CLOCKS_DIFFER_SECONDS)',
        'return 2 * accessTokenSeconds',
      ],
    ],
  ),
]
