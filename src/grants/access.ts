import { needsOperator, needsResource } from '../scopes/policy.ts'
import { MCP_CONNECTIONS } from '../sites/feature.ts'
import { operates } from '../sites/roles.ts'
import { compiled, type Valued } from '../store/compiled.ts'
import type { Database } from '../store/database.ts'
import type { SiteRole } from '../store/schema.ts'

/**
 * Whether a person may still use a client at a site. Tokens are opaque and say nothing by
 * themselves, so this is asked at every use of one, with one query (design 15).
 */
export interface AccessQuestion {
  readonly personId: string
  readonly clientId: string
  /** The site of the grant; undefined for a plain sign-in without a site. */
  readonly siteId: string | undefined
  readonly scopes: Iterable<string>
  /** The grant of a code or token, whose connection must not have been removed. */
  readonly grantId?: string | undefined
}

export type Access =
  | { readonly kind: 'good'; readonly person: PersonFacts; readonly roles: readonly SiteRole[] }
  | { readonly kind: 'lost'; readonly reason: LostReason }

export type LostReason =
  | 'the account does not exist'
  | 'the account is disabled'
  | 'the person has no role at the site'
  | 'the person does not operate the site any more'
  | 'the client is disabled'
  | 'the client was deleted'
  | 'the site switched MCP connections off'
  | 'the connection was removed'

export interface PersonFacts {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly picture: string | undefined
}

/** What the database knows, before anything is concluded from it. */
export interface AccessFacts {
  readonly person: PersonFacts | undefined
  readonly personDisabled: boolean
  readonly roles: readonly SiteRole[]
  readonly clientDisabled: boolean
  readonly clientDeleted: boolean
  /** Whether the client is a site's own, and that site has its beta feature off. */
  readonly featureOff: boolean
  /** Whether the grant has no connection any more (grants/grant-store.ts). */
  readonly connectionEnded: boolean
}

/** Concludes from the facts. Pure, so that every case stands in one table of its test. */
export function judgeAccess(facts: AccessFacts, question: AccessQuestion): Access {
  const lost = (reason: LostReason): Access => ({ kind: 'lost', reason })
  if (!facts.person) return lost('the account does not exist')
  if (facts.personDisabled) return lost('the account is disabled')
  if (facts.clientDeleted) return lost('the client was deleted')
  if (facts.clientDisabled) return lost('the client is disabled')
  if (facts.featureOff) return lost('the site switched MCP connections off')
  if (facts.connectionEnded) return lost('the connection was removed')
  // Only a plain sign-in is at no site: without one there is nothing to read or to operate.
  const atSite = question.siteId !== undefined || needsResource(question.scopes)
  if (atSite && facts.roles.length === 0) return lost('the person has no role at the site')
  if (needsOperator(question.scopes) && !operates(facts.roles)) {
    return lost('the person does not operate the site any more')
  }
  return { kind: 'good', person: facts.person, roles: facts.roles }
}

/**
 * Asks the database and judges. One query.
 *
 * @param integrations client ids of the vendor platforms that the configuration lists now
 */
export async function findAccess(
  database: Database,
  question: AccessQuestion,
  integrations: ReadonlySet<string>,
): Promise<Access> {
  return judgeAccess(await readFacts(database, question, integrations), question)
}

async function readFacts(
  { kysely }: Database,
  { personId, clientId, siteId, grantId, scopes }: AccessQuestion,
  integrations: ReadonlySet<string>,
): Promise<AccessFacts> {
  const ask = questions.get(kysely) ?? makeQuestion(kysely)
  questions.set(kysely, ask)
  const { rows } = await ask({
    personId,
    clientId,
    siteId: siteId ?? '',
    grantId: grantId ?? '',
  })

  const [row] = rows
  return {
    person: row && {
      id: row.id,
      name: row.name,
      email: row.email,
      picture: row.picture ?? undefined,
    },
    personDisabled: row?.disabled_at != null,
    roles: rows.flatMap(({ role }) => role ?? []).sort(),
    clientDisabled:
      row?.app_disabled_at != null ||
      row?.integration_disabled_at != null ||
      row?.document_review === 'blocked',
    // Member scopes are of a site's own applications only, so that one without a row was removed. A
    // platform exists in the configuration only, so that one which is not listed there was, too.
    clientDeleted:
      row?.app_deleted_at != null ||
      (needsResource(scopes) && row?.app_client_id == null) ||
      (row?.connection_origin === 'integration' && !integrations.has(clientId)),
    featureOff: row?.app_site_id != null && row.feature_enabled_at == null,
    connectionEnded: grantId !== undefined && row?.connection_id == null,
  }
}

// Every use of a token asks this, so that it is compiled once for each database that is open.
const questions = new WeakMap<object, ReturnType<typeof makeQuestion>>()

interface Asked {
  readonly personId: string
  readonly clientId: string
  readonly siteId: string
  readonly grantId: string
}

function makeQuestion(kysely: Database['kysely']) {
  return compiled(kysely, (value: Valued<Asked>) =>
    kysely
      .selectFrom('person')
      .leftJoin('site_role', (join) =>
        join
          .onRef('site_role.person_id', '=', 'person.id')
          .on('site_role.site_id', '=', value('siteId')),
      )
      .leftJoin('oauth_application as app', (join) =>
        join.on('app.client_id', '=', value('clientId')),
      )
      .leftJoin('integration_override', (join) =>
        join.on('integration_override.client_id', '=', value('clientId')),
      )
      .leftJoin('site_feature', (join) =>
        join
          .onRef('site_feature.site_id', '=', 'app.site_id')
          .on('site_feature.feature', '=', MCP_CONNECTIONS),
      )
      .leftJoin('document_client', (join) =>
        join.on('document_client.client_id', '=', value('clientId')),
      )
      .leftJoin('connection', (join) => join.on('connection.grant_id', '=', value('grantId')))
      .select([
        'person.id',
        'person.name',
        'person.email',
        'person.picture',
        'person.disabled_at',
        'site_role.role',
        'app.client_id as app_client_id',
        'app.site_id as app_site_id',
        'app.disabled_at as app_disabled_at',
        'app.deleted_at as app_deleted_at',
        'integration_override.disabled_at as integration_disabled_at',
        'site_feature.enabled_at as feature_enabled_at',
        'document_client.review as document_review',
        'connection.grant_id as connection_id',
        'connection.client_origin as connection_origin',
      ])
      .where('person.id', '=', value('personId')),
  )
}
