import { expect } from 'chai'

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
  it('are those of its scopes', () => {
    expect(releasedClaims(known, release)).to.deep.equal(known)
    expect(namesFor({ scopes: ['openid', 'email'] })).to.deep.equal(['sub', 'email'])
  })

  it('omit a scope that the person did not grant, or refused', () => {
    expect(namesFor({ allowed: { openid: { scope: 'openid' } } })).to.deep.equal(['sub'])
    const rejected = { openid: { scope: 'openid profile' } }
    expect(namesFor({ allowed: { ...release.allowed, rejected } })).to.deep.equal(['sub', 'email'])
  })

  // [OpenID Connect Core §5.5]
  it('include claims requested by name only with consent', () => {
    const asked = { scopes: ['openid'], requested: ['email', 'name'] }
    expect(namesFor(asked)).to.deep.equal(['sub'])
    const allowed = { openid: { scope: 'openid', claims: ['email', 'picture'] } }
    expect(namesFor({ ...asked, allowed })).to.deep.equal(['sub', 'email'])
  })

  it('omit every refused claim except sub', () => {
    const allowed = {
      openid: { scope: 'openid profile', claims: ['email'] },
      rejected: { openid: { claims: ['email', 'name', 'sub'] } },
    }
    const names = namesFor({ scopes: ['openid', 'profile'], requested: ['email'], allowed })
    expect(names).to.deep.equal(['sub', 'picture', 'org_id', 'roles'])
  })

  // [OpenID Connect Core §13.3; OpenID Connect Core §5.6.1]
  it('omit unknown claims', () => {
    const { picture: _, ...others } = known
    expect(releasedClaims(others, release)).to.deep.equal(others)
    const allowed = { openid: { scope: 'openid', claims: ['toString', 'phone_number'] } }
    const requested = ['toString', 'phone_number']
    expect(namesFor({ scopes: ['openid'], requested, allowed })).to.deep.equal(['sub'])
  })
})
