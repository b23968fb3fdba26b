import { type Allowed, allowedScopes } from '../src/oauth/grants/allowed-scopes.ts'
import { claimsByScope, type Release, releasedClaims } from '../src/oauth/token/claims.ts'

const known = {
  ...{ sub: 'per_sam', name: 'Sam', email: 'sam@example', picture: 'https://example/sam.jpg' },
  ...{ org_id: 'sit', roles: ['student'] },
}
const release: Release = {
  scopes: ['openid', 'profile', 'email', 'account:read'],
  requested: [],
  allowed: { openid: { scope: 'openid profile email' } },
  claimsByScope,
}
const namesFor = (changes: Partial<Release>) =>
  Object.keys(releasedClaims(known, { ...release, ...changes }))

describe('the claims that a token releases', () => {
  it('omit a scope that the person did not grant, and include claims by name only with consent [OpenID Connect Core §5.5]', () => {
    expect(namesFor({ allowed: { openid: { scope: 'openid' } } })).to.deep.equal(['sub'])
    const asked = { scopes: ['openid'], requested: ['email', 'name'] }
    expect(namesFor(asked)).to.deep.equal(['sub'])
    const allowed = { openid: { scope: 'openid', claims: ['email', 'picture'] } }
    expect(namesFor({ ...asked, allowed })).to.deep.equal(['sub', 'email'])
  })

  it('omit unknown claims [OpenID Connect Core §13.3; OpenID Connect Core §5.6.1]', () => {
    const { picture: _, ...others } = known
    expect(releasedClaims(others, release)).to.deep.equal(others)
    const allowed = { openid: { scope: 'openid', claims: ['toString', 'phone_number'] } }
    const requested = ['toString', 'phone_number']
    expect(namesFor({ scopes: ['openid'], requested, allowed })).to.deep.equal(['sub'])
  })
})

const HERE = 'https://id.campus.example'
const ELSEWHERE = 'https://id.school.example'

it('the allowed scopes of a grant are those of one resource, or of none', () => {
  const allowed: Allowed = {
    openid: { scope: 'openid profile email', claims: ['name'] },
    resources: { [HERE]: 'openid account:read account:write', [ELSEWHERE]: 'courses:read' },
  }
  expect(allowedScopes(allowed)).to.deep.equal(['openid', 'profile', 'email'])
  expect(allowedScopes(allowed, HERE)).to.deep.equal(['openid', 'account:read', 'account:write'])
  expect(allowedScopes(allowed, ELSEWHERE)).to.deep.equal(['courses:read'])
  expect(allowedScopes(allowed, 'https://evil.example')).to.deep.equal([])
  expect(allowedScopes({}, HERE)).to.deep.equal([])
})
