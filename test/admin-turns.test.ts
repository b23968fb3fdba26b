import { setImmediate } from 'node:timers/promises'

import { runInTurn } from '../src/api/admin-api/site-queue.ts'

describe('the Admin API: work that reads all of a site', () => {
  it('runs one after another for a site, and not for other sites or other work', async () => {
    const done: string[] = []
    const work = (name: string) => async () => {
      done.push(`${name} begins`)
      await setImmediate()
      done.push(`${name} ends`)
    }
    const others = Array.fromAsync([1, 2, 3], async () => {
      await setImmediate()
      done.push('other work')
    })
    await Promise.all([
      runInTurn('one', work('first')),
      runInTurn('one', work('second')),
      runInTurn('another', work('its own')),
      others,
    ])
    const own = done.filter((word) => !/other work|its own/.test(word))
    expect(own).to.deep.equal(['first begins', 'first ends', 'second begins', 'second ends'])
    const between = done.slice(done.indexOf('first ends'), done.indexOf('second begins'))
    expect(between).to.include('other work')
    expect(done.indexOf('its own begins')).to.be.below(done.indexOf('second begins'))
  })

  it('shares the result of work that has not begun with equal work', async () => {
    let begun = 0
    const count = async () => {
      begun += 1
      const mine = begun
      await setImmediate()
      return mine
    }
    const asked = ['a', 'a', 'b', 'a', 'b'].map((name) => runInTurn('one', count, name))
    expect(await Promise.all(asked)).to.deep.equal([1, 2, 3, 2, 3])
    expect(await runInTurn('one', count, 'a')).to.equal(4)
  })

  it('continues after a failure, and is refused when the queue is full', async () => {
    const failing = runInTurn('one', async () => {
      await setImmediate()
      throw new Error('away')
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = Array.from({ length: 119 }, () => runInTurn('one', () => promise))
    const refused = await runInTurn('one', async () => {}).catch((error: unknown) => error)
    expect(refused).to.include({ statusCode: 429, error: 'too_many_requests' })
    await runInTurn('another', async () => {})
    expect(await failing.catch((error: unknown) => String(error))).to.equal('Error: away')
    resolve()
    await Promise.all(waiting)
    expect(await runInTurn('one', async () => 'as before')).to.equal('as before')
  })
})
