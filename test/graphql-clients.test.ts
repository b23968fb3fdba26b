import { hash } from 'node:crypto'

import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { Client, cacheExchange, fetchExchange } from '@urql/core'

import { paths } from '../src/platform/http/paths.ts'
import { memberToken } from './support/member-api.ts'
import { shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'

const courses = `query Courses($first: Int) {
  viewer { id name enrolledCourses(first: $first, sort: TITLE) { nodes { id title progressPercent } } }
}`
const read = 'mutation { markNotificationRead(id: "not_sam_14") { notification { id } } }'

interface Courses {
  readonly viewer: { readonly name: string; readonly enrolledCourses: { readonly nodes: object[] } }
}

describe('GraphQL clients with their defaults', () => {
  const running = sharedService()
  const headers = shared(async () => ({
    authorization: `Bearer ${await memberToken(running().url)}`,
  }))

  const listening = () => {
    const heard: { method: string; status: number; sent: string }[] = []
    const hear: typeof fetch = async (input, init) => {
      const { method = 'GET', body } = init ?? {}
      const response = await fetch(input, init)
      heard.push({ method, status: response.status, sent: `${input} ${String(body ?? '')}` })
      return response
    }
    return { heard, hear, uri: running().url + paths.graphql }
  }

  describe("Apollo's client", () => {
    const opened = (...links: ApolloLink[]) => {
      const { heard, hear, uri } = listening()
      const client = new ApolloClient({
        link: ApolloLink.from([...links, new HttpLink({ uri, headers: headers(), fetch: hear })]),
        cache: new InMemoryCache(),
        clientAwareness: { name: 'a page', version: '1.0' },
      })
      const ask = async (first: number) =>
        (await client.query<Courses>({ query: gql(courses), variables: { first } })).data?.viewer
      return { heard, client, ask }
    }

    it('queries and changes', async () => {
      const { heard, client, ask } = opened()
      const viewer = await ask(2)
      expect(viewer?.name).to.equal('Sam Student')
      expect(viewer?.enrolledCourses.nodes).to.have.length(2)
      const { data: changed } = await client.mutate({ mutation: gql(read) })
      expect(changed).to.have.nested.property('markNotificationRead.notification.id', 'not_sam_14')
      expect(heard.map(({ status }) => status)).to.deep.equal([200, 200])
      client.stop()
    })

    for (const useGETForHashedQueries of [false, true]) {
      it(`sends the whole query when its hash is unknown, by ${useGETForHashedQueries ? 'GET' : 'POST'}`, async () => {
        const sha256 = (document: string) => hash('sha256', document)
        const link = new PersistedQueryLink({ sha256, useGETForHashedQueries })
        const { heard, client, ask } = opened(link)
        for (const first of [1, 2])
          expect((await ask(first))?.enrolledCourses.nodes).to.have.length(first)
        // The client sends the hash first, then the document. After the refusal, it sends no hash.
        const seen = heard.map(({ status, sent }) => [status, sent.includes('enrolledCourses')])
        expect(seen).to.deep.equal([[200, false], ...[1, 2].map(() => [200, true])])
        client.stop()
      })
    }
  })

  describe('urql', () => {
    const opened = () => {
      const { heard, hear, uri: url } = listening()
      const exchanges = [cacheExchange, fetchExchange]
      const fetchOptions = () => ({ headers: headers() })
      return { heard, client: new Client({ url, exchanges, fetch: hear, fetchOptions }) }
    }

    it('queries by GET and changes by POST', async () => {
      const { heard, client } = opened()
      const { data, error } = await client.query<Courses>(courses, { first: 2 }).toPromise()
      expect(error).to.equal(undefined)
      expect(data?.viewer.enrolledCourses.nodes).to.have.length(2)
      expect((await client.mutation(read, {}).toPromise()).error).to.equal(undefined)
      const seen = heard.map(({ method, status }) => `${method} ${status}`)
      expect(seen).to.deep.equal(['GET 200', 'POST 200'])
    })
  })
})
