import { standardClaims } from '../src/directory/people/provider-presets.ts'
import { change, insert, rowOf, rowsOf } from './support/database.ts'
import { policyWith, sam } from './support/gatehouse.ts'
import { linkIdentity } from './support/identity-provider.ts'
import { mailsWith } from './support/mail-folder.ts'
import { makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'

const [list, remove] = ['/account/identity-providers', '/account/identity-providers/remove']

describe('the page of linked identities', () => {
  let aheadMs = 0
  const service = sharedService({
    environment: { IDENTITY_PROVIDER_SECRETS: 'acme=s other=s' },
    policy: policyWith({
      signIn: {
        freshSeconds: 120,
        identityProviders: ['acme', 'other'].map((id) => ({
          ...{ id, name: `At ${id}`, issuer: `https://${id}.example`, clientId: 'c' },
          ...{ claims: standardClaims, domains: [] },
        })),
      },
    }),
    now: () => Date.now() + aheadMs,
  })
  const keyOf = (provider: string, subject = 's1') => ({
    ...{ provider, issuer: `https://${provider}.example`, subject },
  })
  const link = async (provider_id: string, person_id: string, subject = 's1') => {
    const issuer = `https://${provider_id}.example`
    await linkIdentity(service(), { provider_id, issuer, subject, person_id })
  }
  const left = async () => {
    const rows = await rowsOf(service().kysely, 'linked_identity')
    return rows.map(({ provider_id, subject }) => `${provider_id} ${subject}`).sort()
  }
  beforeEach(async () => {
    await insert(service().kysely, 'identity_provider', {
      ...{ id: 'idp_1', site_id: 'sit_northlight', name: 'School', role: 'student' },
      ...{ issuer: 'https://idp_1.example', client_id: 'c', sealed_secret: '', created_at: 1 },
      claims: JSON.stringify(standardClaims),
    })
    for (const provider of ['acme', 'other', 'idp_1']) await link(provider, 'per_sam')
    await link('acme', 'per_olivia', 's2')
  })
  afterEach(async () => {
    aheadMs = 0
    await service().kysely.deleteFrom('linked_identity').execute()
    await service().kysely.deleteFrom('identity_provider').execute()
  })

  // [370]
  it('removes only identities of the person, after a fresh sign-in, and tells the person', async () => {
    const person = makePagePerson(service().url, sam)
    const page = await person.visit(list)
    expect(page.text).to.include('At acme').and.include('<bdi>Northlight')
    expect((await person.send(page, remove, keyOf('acme', 's2'))).path).to.include('done=removed')
    const other = { ...keyOf('acme'), issuer: 'x' }
    expect((await person.send(page, remove, other)).status).to.equal(200)
    expect(await left()).to.have.length(4)
    aheadMs = 130_000
    const returned = await person.send(page, remove, keyOf('acme'))
    const askedFirst = { status: 200, path: `${list}?done=repeat` }
    expect(returned, 'asked for a sign-in first').to.include(askedFirst)
    expect(await left()).to.have.length(4)
    await person.send(returned, remove, keyOf('acme'))
    expect(await left()).to.deep.equal(['acme s2', 'idp_1 s1', 'other s1'])
    const { before } = await rowOf(service().kysely, 'audit_event', { action: 'identity.unlink' })
    expect(before).to.equal('{"provider":"acme"}')
    await mailsWith(service(), 'At acme can no longer sign you in', sam.login)
  })

  // [371]
  it('keeps at least one identity with access to the whole account if the person has no password or passkey', async () => {
    const { kysely, url } = service()
    const person = makePagePerson(url, sam)
    const page = await person.visit(list)
    const { password_hash } = await rowOf(kysely, 'person', { id: 'per_sam' })
    await change(kysely, 'person', { id: 'per_sam' }, { password_hash: null })
    const answers = await Promise.all(
      ['acme', 'other'].map(async (provider) => await person.send(page, remove, keyOf(provider))),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422])
    expect(answers.map(({ text }) => text).join()).to.include('Add a passkey first.')
    expect(await left()).to.have.length(3)
    expect((await person.send(page, remove, keyOf('idp_1'))).status).to.equal(200)
    const passkey = { id: 'k', person_id: 'per_sam', public_key: '', counter: 0, name: 'Key' }
    await insert(kysely, 'passkey', { ...passkey, created_at: 1, cloned_at: 1 })
    for (const provider of ['acme', 'other']) await person.send(page, remove, keyOf(provider))
    expect(await left(), 'a copied passkey signs nobody in').to.have.length(2)
    await change(kysely, 'passkey', { id: 'k' }, { cloned_at: null })
    for (const provider of ['acme', 'other']) await person.send(page, remove, keyOf(provider))
    expect(await left()).to.deep.equal(['acme s2'])
    await change(kysely, 'person', { id: 'per_sam' }, { password_hash })
  })
})
