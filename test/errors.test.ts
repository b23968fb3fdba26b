import { expect } from 'chai'
import type { errors } from 'oidc-provider'

import * as refusals from '../src/platform/http/errors.ts'
import { errorTables } from './support/reference-data.ts'

type Refusal = errors.OIDCProviderError
const { isRefusal, ...makers } = refusals

const rows = (errorTables[0]?.rows ?? []).map(([name = '', status, error]) => ({
  name,
  status: Number(status),
  error,
}))

function make(name: string): Refusal {
  // Every maker takes a text, a number, a list or nothing, and what it is given only ends up in words.
  const maker = Reflect.get(makers, name) as (value: unknown) => Refusal
  return maker(name === 'scopeNotGranted' ? ['a'] : 'detail')
}

describe('refusals', () => {
  it('are documented, every one and no other', () => {
    expect(rows.map(({ name }) => name).sort()).to.deep.equal(Object.keys(makers).sort())
  })

  for (const { name, status, error } of rows) {
    it(`${name} answers ${status} ${error}, as the document says`, () => {
      const refusal = make(name)
      expect(refusal.statusCode).to.equal(status)
      expect(refusal.error).to.equal(error)
      expect(isRefusal(refusal)).to.equal(true)
    })
  }

  it('keep the reason of a refused grant for the log', () => {
    const refusal = refusals.invalidGrant('the grant has ended')
    expect(refusal.error_description).to.not.include('ended')
    expect(refusal.error_detail).to.equal('the grant has ended')
  })

  it('are told apart from faults', () => {
    expect(isRefusal(new Error('a fault'))).to.equal(false)
    expect(isRefusal(undefined)).to.equal(false)
  })
})
