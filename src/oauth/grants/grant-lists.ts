import type { Kysely } from 'kysely'

import { scopeNames } from '../../directory/scopes/catalogue.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, type PageRequest, readPage } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { AppLine } from './end-grants.ts'
import { CALL_DAYS, dayOf } from './grant-store.ts'

/** Origin of the client of our own pages, which is not listed as a connected app. */
const OWN_CLIENT_ORIGIN = 'first_party'

// Replaces the missing site id of a grant without a site, in list entries and their ids.
const NO_SITE = ''

/** Creates the functions that list connected apps and their users. Repeated grants count as one connection. */
export function makeGrantLists({ kysely }: Database, now: () => number) {
  const grantsTo = (clientId: string) =>
    liveGrants(kysely, now()).where('g.client_id', '=', clientId)
  return {
    /**
     * Lists a page of a person's connected apps, newest connection first. Omits deleted apps and our own pages.
     *
     * @param siteId limits the list to the apps at this site
     */
    async listApps(personId: string, request: PageRequest, siteId?: string) {
      const grants = liveGrants(kysely, now())
        .where('g.person_id', '=', personId)
        .$if(siteId !== undefined, (query) => query.where('g.site_id', '=', siteId ?? ''))
      const page = await readPage(appsOf(kysely, grants), newestFirst, request)
      const lineOf: LineOf = ({ client_id, site_id }) => `${client_id} ${site_id ?? NO_SITE}`
      const useOf = await usesOf(grants, now(), lineOf)
      const rows = page.rows.map((row) => ({
        clientId: row.client_id,
        clientName: row.client_name,
        clientOrigin: row.client_origin,
        assistant: row.assistant,
        site: row.site_name === null ? undefined : { id: row.site_id, name: row.site_name },
        ...useOf(row),
      }))
      return { ...page, rows }
    },

    /** Finds the names of a connected app and its site. Returns undefined if it is not connected. */
    async findApp({ personId, clientId, siteId }: AppLine) {
      const row = await grantsTo(clientId)
        .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
        .leftJoin('site', 'site.id', 'g.site_id')
        .select((eb) => [
          eb.fn.coalesce('app.name', 'g.client_name').as('client_name'),
          'site.name as site_name',
        ])
        .where('g.person_id', '=', personId)
        .where('g.site_id', siteId === undefined ? 'is' : '=', siteId ?? null)
        .where('g.client_origin', '!=', OWN_CLIENT_ORIGIN)
        .executeTakeFirst()
      return row && { clientName: row.client_name, siteName: row.site_name ?? undefined }
    },

    /** Lists a page of the people who have connected a client, newest connection first. */
    async listPeople(clientId: string, request: PageRequest) {
      const page = await readPage(peopleOf(kysely, grantsTo(clientId)), newestFirst, request)
      // Read usage only for the people on this page, because a client may have a very large number of users.
      const people = page.rows.map(({ id }) => id)
      // PostgreSQL rejects `in ()`.
      if (people.length === 0) return { ...page, rows: [] }
      const grants = grantsTo(clientId).where('g.person_id', 'in', people)
      const useOf = await usesOf(grants, now(), ({ person_id }) => person_id)
      const rows = page.rows.map((row) => ({
        personId: row.id,
        name: row.name,
        email: row.email,
        ...useOf(row),
      }))
      return { ...page, rows }
    },

    /** Finds the name of a person who has connected the client. */
    async findPerson(clientId: string, personId: string) {
      return await grantsTo(clientId)
        .innerJoin('person', 'person.id', 'g.person_id')
        .select('person.name')
        .where('g.person_id', '=', personId)
        .executeTakeFirst()
    },

    async countPeople(clientId: string) {
      const uses = await summarizeUse(kysely, [clientId], now())
      return Number(uses.get(clientId)?.people ?? 0)
    },
  }
}

/** Counts the people who have connected each client, and finds the latest use of their grants. */
export async function summarizeUse(
  kysely: Kysely<Schema>,
  clientIds: readonly string[],
  nowMs: number,
) {
  const rows = await liveGrants(kysely, nowMs)
    .where('g.client_id', 'in', clientIds)
    .select((eb) => [
      'g.client_id as clientId',
      eb.fn.count<number>('g.person_id').distinct().as('people'),
      eb.fn.max('g.last_used_at').as('lastUsedAt'),
    ])
    .groupBy('g.client_id')
    .execute()
  return new Map(rows.map((row) => [row.clientId, row]))
}

/** Selects the grants that have neither ended nor expired. */
function liveGrants(kysely: Kysely<Schema>, nowMs: number) {
  return kysely
    .selectFrom('oauth_grant as g')
    .where('g.ended_at', 'is', null)
    .where('g.expires_at', '>', nowMs)
}

function appsOf(kysely: Kysely<Schema>, grants: ReturnType<typeof liveGrants>) {
  return kysely
    .selectFrom(
      grants
        .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
        .leftJoin('site', 'site.id', 'g.site_id')
        .select((eb) => [
          'g.client_id',
          eb.fn.coalesce('g.site_id', eb.val(NO_SITE)).as('site_id'),
          eb.fn<string>('max', [eb.fn.coalesce('app.name', 'g.client_name')]).as('client_name'),
          eb.fn.max('g.client_origin').as('client_origin'),
          eb.fn.max('app.assistant').as('assistant'),
          eb.fn.max('site.name').as('site_name'),
          eb.fn.min('g.granted_at').as('granted_at'),
          eb.fn.max('g.last_used_at').as('last_used_at'),
          eb(eb('g.client_id', '||', ' '), '||', eb.fn.coalesce('g.site_id', eb.val(NO_SITE))).as(
            'id',
          ),
        ])
        .where('g.client_origin', '!=', OWN_CLIENT_ORIGIN)
        .where('app.deleted_at', 'is', null)
        .groupBy(['g.client_id', 'g.site_id'])
        .as('list'),
    )
    .selectAll()
}

function peopleOf(kysely: Kysely<Schema>, grants: ReturnType<typeof liveGrants>) {
  return kysely
    .selectFrom(
      grants
        .innerJoin('person', 'person.id', 'g.person_id')
        .select((eb) => [
          'person.id as id',
          'person.name as name',
          'person.email as email',
          eb.fn.min('g.granted_at').as('granted_at'),
          eb.fn.max('g.last_used_at').as('last_used_at'),
        ])
        .groupBy('person.id')
        .as('list'),
    )
    .selectAll()
}

const newestFirst = orderBy('granted_at', 'desc', 'list.granted_at', 'list.id')

type Line = Pick<Schema['oauth_grant'], 'id' | 'granted_at' | 'last_used_at'>
type LineOf = (grant: Pick<Schema['oauth_grant'], 'client_id' | 'person_id' | 'site_id'>) => string

/** Reads the scopes and recent calls of these grants. Returns a function that summarizes the grants of a list entry. */
async function usesOf(grants: ReturnType<typeof liveGrants>, nowMs: number, lineOf: LineOf) {
  const lines = grants.select(['g.client_id', 'g.person_id', 'g.site_id'])
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
  const scopesOf = Map.groupBy(scopes, lineOf)
  const callsOf = Map.groupBy(calls, lineOf)
  return ({ id, granted_at, last_used_at }: Line) => {
    const held = new Set(scopesOf.get(id)?.map(({ scope }) => scope))
    return {
      /** The granted scopes, in the order of the catalogue. */
      scopes: scopeNames().filter((name) => held.has(name)),
      /** When the oldest live grant was given, in epoch milliseconds. */
      grantedAt: granted_at,
      lastUsedAt: last_used_at ?? undefined,
      /** The number of calls in the last `CALL_DAYS` days. */
      calls: callsOf.get(id)?.reduce((sum, row) => sum + Number(row.calls), 0) ?? 0,
    }
  }
}
