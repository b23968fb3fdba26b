import type { Kysely } from 'kysely'

import { scopeNames } from '../scopes/catalogue.ts'
import type { Database } from '../store/database.ts'
import { type ListOrder, type Page, type PageRequest, readPage } from '../store/keyset.ts'
import type { Schema } from '../store/schema.ts'
import { CALL_DAYS, dayOf } from './grant-store.ts'

/**
 * Grants as people see them: everything that one person allowed one client at one site is one
 * line, from however many browsers it was allowed.
 */
export interface GrantUse {
  /** In the order of the catalogue. */
  readonly scopes: readonly string[]
  /** When the person first allowed it. */
  readonly grantedAt: number
  readonly lastUsedAt: number | undefined
  /** Calls in the last `CALL_DAYS` days. */
  readonly calls: number
}

export interface ConnectedApp extends GrantUse {
  readonly clientId: string
  readonly clientName: string
  readonly clientOrigin: string
  readonly site: { readonly id: string; readonly name: string } | undefined
}

export interface ConnectedPerson extends GrantUse {
  readonly personId: string
  readonly name: string
  readonly email: string
}

export interface GrantLists {
  /** What a person allowed, the newest first. */
  listApps(personId: string, request: PageRequest): Promise<Page<ConnectedApp>>
  /** The names of one line of that list, while it is there. */
  findApp(line: AppLine): Promise<{ clientName: string; siteName: string | undefined } | undefined>
  /** Who allowed a client, the newest first. */
  listPeople(clientId: string, request: PageRequest): Promise<Page<ConnectedPerson>>
  /** One person of that list. */
  findPerson(clientId: string, personId: string): Promise<{ name: string } | undefined>
  countPeople(clientId: string): Promise<number>
}

/** One line of a person's list. */
export interface AppLine {
  readonly personId: string
  readonly clientId: string
  readonly siteId: string | undefined
}

/** The client of this service's own pages is no app that somebody connected. */
const OWN_CLIENT_ORIGIN = 'first_party'

// The site of a plain sign-in, where a value and not its absence is needed.
const NO_SITE = ''

export function makeGrantLists(database: Database, now: () => number): GrantLists {
  const { kysely } = database
  return {
    async listApps(personId, request) {
      const page = await readPage(appsOf(kysely, personId, now()), newestFirst, request)
      const uses = await usesOf(kysely, { column: 'person_id', value: personId, nowMs: now() })
      const rows = page.rows.map(({ id, site_id, ...row }) => ({
        clientId: row.client_id,
        clientName: row.client_name,
        clientOrigin: row.client_origin,
        site:
          site_id === NO_SITE || row.site_name === null
            ? undefined
            : { id: site_id, name: row.site_name },
        ...useOf(row, uses.get(id)),
      }))
      return { ...page, rows }
    },

    async findApp({ personId, clientId, siteId }) {
      const row = await liveGrants(kysely, now())
        .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
        .leftJoin('site', 'site.id', 'g.site_id')
        .select((eb) => [
          eb.fn.coalesce('app.name', 'g.client_name').as('client_name'),
          'site.name as site_name',
        ])
        .where('g.person_id', '=', personId)
        .where('g.client_id', '=', clientId)
        .where('g.site_id', siteId === undefined ? 'is' : '=', siteId ?? null)
        .where('g.client_origin', '!=', OWN_CLIENT_ORIGIN)
        .executeTakeFirst()
      return row && { clientName: row.client_name, siteName: row.site_name ?? undefined }
    },

    async listPeople(clientId, request) {
      const page = await readPage(peopleOf(kysely, clientId, now()), newestFirst, request)
      const uses = await usesOf(kysely, {
        column: 'client_id',
        value: clientId,
        people: page.rows.map(({ id }) => id),
        nowMs: now(),
      })
      const rows = page.rows.map((row) => ({
        personId: row.id,
        name: row.name,
        email: row.email,
        ...useOf(row, uses.get(row.id)),
      }))
      return { ...page, rows }
    },

    async findPerson(clientId, personId) {
      return await liveGrants(kysely, now())
        .innerJoin('person', 'person.id', 'g.person_id')
        .select('person.name')
        .where('g.client_id', '=', clientId)
        .where('g.person_id', '=', personId)
        .executeTakeFirst()
    },

    async countPeople(clientId) {
      const { people } = await liveGrants(kysely, now())
        .select((eb) => eb.fn.count<number>('g.person_id').distinct().as('people'))
        .where('g.client_id', '=', clientId)
        .executeTakeFirstOrThrow()
      return Number(people)
    },
  }
}

/** The grants that have neither ended nor expired. */
function liveGrants(kysely: Kysely<Schema>, nowMs: number) {
  return kysely
    .selectFrom('oauth_grant as g')
    .where('g.ended_at', 'is', null)
    .where('g.expires_at', '>', nowMs)
}

/** The applications of a person; a deleted one is of no use to anybody. */
function appsOf(kysely: Kysely<Schema>, personId: string, nowMs: number) {
  return kysely
    .selectFrom(
      liveGrants(kysely, nowMs)
        .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
        .leftJoin('site', 'site.id', 'g.site_id')
        .select((eb) => [
          'g.client_id',
          eb.fn.coalesce('g.site_id', eb.val(NO_SITE)).as('site_id'),
          eb.fn<string>('max', [eb.fn.coalesce('app.name', 'g.client_name')]).as('client_name'),
          eb.fn.max('g.client_origin').as('client_origin'),
          eb.fn.max('site.name').as('site_name'),
          eb.fn.min('g.granted_at').as('granted_at'),
          eb.fn.max('g.last_used_at').as('last_used_at'),
          eb(eb('g.client_id', '||', ' '), '||', eb.fn.coalesce('g.site_id', eb.val(NO_SITE))).as(
            'id',
          ),
        ])
        .where('g.person_id', '=', personId)
        .where('g.client_origin', '!=', OWN_CLIENT_ORIGIN)
        .where('app.deleted_at', 'is', null)
        .groupBy(['g.client_id', 'g.site_id'])
        .as('list'),
    )
    .selectAll()
}

function peopleOf(kysely: Kysely<Schema>, clientId: string, nowMs: number) {
  return kysely
    .selectFrom(
      liveGrants(kysely, nowMs)
        .innerJoin('person', 'person.id', 'g.person_id')
        .select((eb) => [
          'person.id as id',
          'person.name as name',
          'person.email as email',
          eb.fn.min('g.granted_at').as('granted_at'),
          eb.fn.max('g.last_used_at').as('last_used_at'),
        ])
        .where('g.client_id', '=', clientId)
        .groupBy(['person.id', 'person.name', 'person.email'])
        .as('list'),
    )
    .selectAll()
}

const newestFirst: ListOrder<{ readonly granted_at: number; readonly id: string }> = {
  by: 'list.granted_at',
  id: 'list.id',
  direction: 'desc',
  placeOf: (row) => [Number(row.granted_at), row.id],
}

interface Uses {
  readonly scopes: Set<string>
  calls: number
}

interface UsesQuestion {
  readonly column: 'person_id' | 'client_id'
  readonly value: string
  /** Only these people, of a client that may have very many. */
  readonly people?: readonly string[]
  readonly nowMs: number
}

/** Scopes and calls of each line, by its id. */
async function usesOf(
  kysely: Kysely<Schema>,
  { column, value, people, nowMs }: UsesQuestion,
): Promise<Map<string, Uses>> {
  const lines = liveGrants(kysely, nowMs)
    .where(`g.${column}`, '=', value)
    .$if(people !== undefined, (query) => query.where('g.person_id', 'in', people ?? []))
    .select(['g.client_id', 'g.person_id', 'g.site_id'])
  const [scopes, calls] = await Promise.all([
    lines
      .innerJoin('oauth_grant_scope as s', 's.grant_id', 'g.id')
      .select('s.scope')
      .distinct()
      .execute(),
    lines
      .innerJoin('oauth_grant_day as d', 'd.grant_id', 'g.id')
      .where('d.day', '>', dayOf(nowMs) - CALL_DAYS)
      .select((eb) => eb.fn.sum<number>('d.calls').as('calls'))
      .groupBy(['g.client_id', 'g.person_id', 'g.site_id'])
      .execute(),
  ])
  const uses = new Map<string, Uses>()
  const at = (row: { client_id: string; person_id: string; site_id: string | null }) => {
    const id = column === 'client_id' ? row.person_id : `${row.client_id} ${row.site_id ?? NO_SITE}`
    const known = uses.get(id) ?? { scopes: new Set(), calls: 0 }
    uses.set(id, known)
    return known
  }
  for (const row of scopes) at(row).scopes.add(row.scope)
  for (const row of calls) at(row).calls += Number(row.calls)
  return uses
}

function useOf(
  row: { readonly granted_at: number; readonly last_used_at: number | null },
  uses: Uses | undefined,
): GrantUse {
  return {
    scopes: scopeNames().filter((name) => uses?.scopes.has(name)),
    grantedAt: Number(row.granted_at),
    lastUsedAt: row.last_used_at === null ? undefined : Number(row.last_used_at),
    calls: uses?.calls ?? 0,
  }
}
