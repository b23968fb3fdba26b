import { hash } from 'node:crypto'

import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { Client, cacheExchange, fetchExchange } from '@urql/core'
import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import { memberToken, readWrite } from './support/member-api.ts'
import { sharedService } from './support/shared-service.ts'

/** What a client sent, and what it was answered. */
interface Exchange {
  readonly method: string
  readonly status: number
  readonly sent: string
}

const courses = `query Courses($first: Int) {
  viewer { id name enrolledCourses(first: $first, sort: TITLE) { nodes { id title progressPercent } } }
}`
const read = 'mutation { markNotificationRead(id: "not_sam_14") { notification { id } } }'

interface Courses {
  readonly viewer: { readonly name: string; readonly enrolledCourses: { readonly nodes: object[] } }
}

describe('GraphQL clients, with their defaults', () => {
  const running = sharedService()
  let token = ''
  before(async () => {
    token = await memberToken(running().url, readWrite)
  })

  /** What clients do with a request is theirs; a test only listens. */
  const listening = () => {
    const heard: Exchange[] = []
    const hear: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      const sent = `${input} ${String(init?.body ?? '')}`
      heard.push({ method: init?.method ?? 'GET', status: response.status, sent })
      return response
    }
    return { heard, hear }
  }

  describe("Apollo's client", () => {
    const clientOf = (links: (http: ApolloLink) => ApolloLink, hear: typeof fetch) => {
      const http = new HttpLink({
        uri: running().url + paths.graphql,
        headers: { authorization: `Bearer ${token}` },
        fetch: hear,
      })
      return new ApolloClient({
        link: links(http),
        cache: new InMemoryCache(),
        clientAwareness: { name: 'a page', version: '1.0' },
      })
    }

    it('queries and changes', async () => {
      const { heard, hear } = listening()
      const client = clientOf((http) => http, hear)
      const { data } = await client.query<Courses>({ query: gql(courses), variables: { first: 2 } })
      expect(data?.viewer.name).to.equal('Sam Student')
      expect(data?.viewer.enrolledCourses.nodes).to.have.length(2)
      const { data: changed } = await client.mutate({ mutation: gql(read) })
      expect(changed).to.have.nested.property('markNotificationRead.notification.id', 'not_sam_14')
      expect(heard.map(({ status }) => status)).to.deep.equal([200, 200])
      client.stop()
    })

    for (const useGETForHashedQueries of [false, true]) {
      it(`sends the whole query when its hash is not known, by ${useGETForHashedQueries ? 'GET' : 'POST'}`, async () => {
        const { heard, hear } = listening()
        const persisted = new PersistedQueryLink({
          sha256: (document) => hash('sha256', document),
          useGETForHashedQueries,
        })
        const client = clientOf((http) => ApolloLink.from([persisted, http]), hear)
        const ask = async (first: number) => {
          const { data } = await client.query<Courses>({
            query: gql(courses),
            variables: { first },
          })
          return data?.viewer.enrolledCourses.nodes.length
        }
        expect([await ask(1), await ask(2)]).to.deep.equal([1, 2])
        // The hash alone, then the document; and no hash any more, because the service has said so.
        const whole = heard.map(({ sent }) => sent.includes('enrolledCourses'))
        expect(whole).to.deep.equal([false, true, true])
        expect(heard.map(({ status }) => status)).to.deep.equal([200, 200, 200])
        client.stop()
      })
    }
  })

  describe('urql', () => {
    const clientOf = (hear: typeof fetch) =>
      new Client({
        url: running().url + paths.graphql,
        exchanges: [cacheExchange, fetchExchange],
        fetch: hear,
        fetchOptions: () => ({ headers: { authorization: `Bearer ${token}` } }),
      })

    it('queries by GET, as it does by default, and changes by POST', async () => {
      const { heard, hear } = listening()
      const client = clientOf(hear)
      const { data, error } = await client.query<Courses>(courses, { first: 2 }).toPromise()
      expect(error).to.equal(undefined)
      expect(data?.viewer.enrolledCourses.nodes).to.have.length(2)
      const changed = await client.mutation(read, {}).toPromise()
      expect(changed.error).to.equal(undefined)
      expect(heard.map(({ method, status }) => [method, status])).to.deep.equal([
        ['GET', 200],
        ['POST', 200],
      ])
    })

    it('sends a long query by POST', async () => {
      const { heard, hear } = listening()
      const long = `query ${'A'.repeat(2100)} { viewer { name } }`
      const { data } = await clientOf(hear).query<Courses>(long, {}).toPromise()
      expect(heard.map(({ method }) => method)).to.deep.equal(['POST'])
      expect(data?.viewer.name).to.equal('Sam Student')
    })
  })
})
