import { expect } from 'chai'

import { type Allowed, allowedByEither, allowedScopes } from '../src/oauth/grants/allowed-scopes.ts'

const HERE = 'https://id.campus.example'
const ELSEWHERE = 'https://id.school.example'

const allowed: Allowed = {
  openid: { scope: 'openid profile email', claims: ['name'] },
  resources: { [HERE]: 'openid account:read account:write', [ELSEWHERE]: 'courses:read' },
}

describe('the allowed scopes of a grant', () => {
  it('are those of one resource, or of none', () => {
    expect(allowedScopes(allowed)).to.deep.equal(['openid', 'profile', 'email'])
    expect(allowedScopes(allowed, HERE)).to.deep.equal(['openid', 'account:read', 'account:write'])
    expect(allowedScopes(allowed, ELSEWHERE)).to.deep.equal(['courses:read'])
    expect(allowedScopes(allowed, 'https://evil.example')).to.deep.equal([])
    expect(allowedScopes({}, HERE)).to.deep.equal([])
  })

  it('lack scopes that were refused later for the same resource', () => {
    const rejected = { openid: { scope: 'email' }, resources: { [HERE]: 'openid account:write' } }
    expect(allowedScopes({ ...allowed, rejected })).to.deep.equal(['openid', 'profile'])
    expect(allowedScopes({ ...allowed, rejected }, HERE)).to.deep.equal(['account:read'])
    expect(allowedScopes({ ...allowed, rejected }, ELSEWHERE)).to.deep.equal(['courses:read'])
  })

  it('keep openid', () => {
    const rejected = { openid: { scope: 'openid profile' } }
    expect(allowedScopes({ ...allowed, rejected })).to.deep.equal(['openid', 'email'])
  })

  it('join those of two consents, with the refusals of the later one', () => {
    const later: Allowed = {
      openid: { scope: 'openid', claims: ['email', 'name'] },
      resources: { [HERE]: 'account:read courses:read' },
      rejected: { resources: { [HERE]: 'account:write' } },
    }
    expect(allowedByEither(allowed, later)).to.deep.equal({
      openid: { scope: 'openid profile email', claims: ['name', 'email'] },
      resources: {
        [HERE]: 'openid account:read account:write courses:read',
        [ELSEWHERE]: 'courses:read',
      },
      rejected: later.rejected,
    })
  })
})
