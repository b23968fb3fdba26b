import type { errors } from 'oidc-provider'

import * as refusals from '../src/platform/http/errors.ts'
import { errorTables } from './support/reference-data.ts'

const { isRefusal, ...makers } = refusals

it('refusals have the documented names, statuses and errors, and differ from faults', () => {
  const rows = errorTables[0]?.rows ?? []
  expect(rows.map(([name]) => name).sort()).to.deep.equal(Object.keys(makers).sort())
  for (const [name = '', status, error] of rows) {
    // Any argument works: it affects neither the status nor the error code.
    const make = Reflect.get(makers, name) as (value: unknown) => errors.OIDCProviderError
    const refusal = make(name === 'scopeNotGranted' ? ['a'] : 'detail')
    expect(refusal, name).to.include({ statusCode: Number(status), error })
    expect(isRefusal(refusal), name).to.equal(true)
  }
  expect([isRefusal(new Error('a fault')), isRefusal(undefined)]).to.deep.equal([false, false])
})
