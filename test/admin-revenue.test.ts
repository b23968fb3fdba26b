import { operatorSite } from './support/admin-api.ts'
import { insert } from './support/database.ts'
import { forEachDatabase } from './support/storages.ts'

const at = (moment: string) => Date.parse(`${moment}Z`)

const orders: readonly (readonly [
  placed: string,
  cents: number,
  currency: string,
  refunded?: string,
])[] = [
  ['2015-01-31T23:59:59', 1000, 'EUR'],
  ['2015-02-01T00:00:00', 2000, 'EUR', '2015-03-01T12:00:00'],
  ['2015-02-28T23:59:59', 700, 'USD'],
  ['2015-02-28T10:00:00', 300, 'USD', '2015-02-28T11:00:00'],
  ['2015-03-01T00:00:00', 2_000_000_000, 'EUR'],
  ['2015-03-31T00:00:00', 2_000_000_000, 'EUR'],
]

forEachDatabase('the revenue of a site', (start) => {
  const { kysely, value, refused } = operatorSite(start)
  before(async () => {
    for (const [index, [placed, total_cents, currency, refunded]] of orders.entries()) {
      for (const [site_id, cents] of [
        ['sit_northlight', total_cents],
        ['sit_open_kitchen', 9],
      ] as const) {
        await insert(kysely(), 'customer_order', {
          ...{ id: `ord_${site_id}_${index}`, site_id, person_id: 'per_sam', number: `R${index}` },
          ...{ coupon_code: null, invoice_number: null, total_cents: cents, currency },
          ...{ placed_at: at(placed), refunded_at: refunded ? at(refunded) : null },
        })
      }
    }
  })

  const read = async (args: string) =>
    (
      await value(
        `{ revenue(${args}) { sums { period currency orderCount grossCents refundCount refundedCents netCents } } }`,
      )
    ).sums.map((sum: object) => Object.values(sum).join(' '))
  const february = 'from: "2015-02-01T00:00:00Z", until: "2015-03-01T00:00:00Z"'
  const quarter = 'from: "2015-01-01T00:00:00Z", until: "2015-04-01T00:00:00Z"'

  for (const [args, sums] of [
    [february, [' EUR 1 2000 0 0 2000', ' USD 2 1000 1 300 700']],
    [
      `${quarter}, by: MONTH`,
      [
        '2015-01 EUR 1 1000 0 0 1000',
        '2015-02 EUR 1 2000 0 0 2000',
        '2015-02 USD 2 1000 1 300 700',
        '2015-03 EUR 2 4000000000 1 2000 3999998000',
      ],
    ],
    [`${february}, by: DAY`, ['2015-02-01 EUR 1 2000 0 0 2000', '2015-02-28 USD 2 1000 1 300 700']],
    [quarter.replace('2015-01-01', '2015-03-15'), [' EUR 1 2000000000 0 0 2000000000']],
  ] as const) {
    it(`counts orders when placed and refunds when made: ${args}`, async () => {
      expect(await read(args)).to.deep.equal(sums)
    })
  }

  it('is that of the last thirty days by default, and refuses too long a time', async () => {
    const { from, until } = await value('{ revenue { from until } }')
    expect(Date.parse(until) - Date.parse(from)).to.equal(30 * 86_400_000)
    for (const [args, argument] of [
      ['from: "2015-01-01T00:00:00Z", until: "2015-01-01T00:00:00Z"', 'until'],
      ['from: "2015-01-01T00:00:00Z", until: "2018-02-01T00:00:00Z"', 'from'],
      ['by: DAY, from: "2015-01-01T00:00:00Z", until: "2015-05-01T00:00:00Z"', 'from'],
    ] as const) {
      expect(await refused(`{ revenue(${args}) { from } }`)).to.equal(`BAD_ARGUMENT ${argument}`)
    }
  })
})
