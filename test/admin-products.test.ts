import { expect } from 'chai'

import { type Operator, startOperator } from './support/admin-api.ts'
import { type RunningService, sam } from './support/gatehouse.ts'
import { memberToken, readMember } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'

const product = {
  slug: 'snow-presets',
  title: 'Snow Presets',
  summary: 'Twelve ways to keep white white.',
  fileName: 'snow-presets.zip',
}

forEachDatabase('the Admin API: digital products', (start) => {
  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const createProduct = `mutation ($input: CreateDigitalProductInput!) {
    createDigitalProduct(input: $input) { id digitalProduct { slug title summary fileName state } }
  }`
  const create = async (input: object) =>
    (await operator.run(createProduct, { input })).createDigitalProduct
  const refused = async (input: object) => await operator.refused(createProduct, { input })

  it('makes a draft, and lets it be published, put away and brought back', async () => {
    const { id, digitalProduct } = await create(product)
    expect(digitalProduct).to.deep.equal({ ...product, state: 'DRAFT' })
    const states: string[] = []
    for (const change of ['publish', 'archive', 'restore', 'unpublish']) {
      const name = `${change}DigitalProduct`
      const data = await operator.run(
        `mutation { ${name}(id: "${id}") { digitalProduct { state } } }`,
      )
      states.push(data[name].digitalProduct.state)
    }
    expect(states).to.deep.equal(['PUBLISHED', 'ARCHIVED', 'PUBLISHED', 'DRAFT'])
    const events = await running.service.stores.database.kysely
      .selectFrom('audit_event')
      .select('action')
      .where('subject_id', '=', id)
      .orderBy('occurred_at')
      .execute()
    expect(events.map(({ action }) => action)).to.have.members([
      'digital_product.create',
      'digital_product.publish',
      'digital_product.archive',
      'digital_product.restore',
      'digital_product.unpublish',
    ])
  })

  it('shows a change to the member who bought it at its next request', async () => {
    const token = await memberToken(running.url, undefined, { person: sam })
    const bought = async () => {
      const { viewer } = await readMember<{
        viewer: { digitalProducts: { nodes: { slug: string; title: string; fileName: string }[] } }
      }>(
        { url: running.url, token },
        '{ viewer { digitalProducts { nodes { slug title fileName } } } }',
      )
      return viewer.digitalProducts.nodes
    }
    const [first] = await bought()
    const { digitalProduct } = await operator.run(
      'query ($slug: String) { digitalProduct(slug: $slug) { id buyerCount } }',
      { slug: first?.slug },
    )
    expect(digitalProduct.buyerCount).to.be.above(0)
    const input = { id: digitalProduct.id, title: 'Another Title', fileName: 'another.pdf' }
    const update =
      'mutation ($input: UpdateDigitalProductInput!) { updateDigitalProduct(input: $input) { id } }'
    await operator.run(update, { input })
    const names = { title: 'Another Title', fileName: 'another.pdf' }
    expect(await bought()).to.deep.include({ slug: first?.slug, ...names })
  })

  it('finds and filters, page by page', async () => {
    await create({ ...product, slug: 'rain-presets', title: 'Rain Presets' })
    const list = async (args: string) =>
      (
        await operator.run(
          `{ digitalProducts(${args}) { totalCount nodes { slug } pageInfo { endCursor } } }`,
        )
      ).digitalProducts
    expect((await list('search: "PRESETS"')).totalCount).to.equal(2)
    expect((await list('search: "rain", state: DRAFT')).nodes).to.deep.equal([
      { slug: 'rain-presets' },
    ])
    expect((await list('search: "rain", state: PUBLISHED')).nodes).to.deep.equal([])
    const first = await list('first: 1, sort: TITLE')
    const second = await list(`first: 1, sort: TITLE, after: "${first.pageInfo.endCursor}"`)
    expect(second.nodes).not.to.deep.equal(first.nodes)
  })

  it('names the field that is wrong, and makes one of several repetitions', async () => {
    const other = { ...product, slug: 'other' }
    expect(await refused({ ...other, fileName: '' })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'fileName',
    })
    expect(await refused(product)).to.deep.equal({ code: 'CONFLICT', argument: 'slug' })
    const wish = { ...other, idempotencyKey: 'a key' }
    const made = await Promise.all([create(wish), create(wish)])
    expect(made[0].id).to.equal(made[1].id)
  })

  it('knows nothing of another site, and nothing without its scope', async () => {
    const { kysely } = running.service.stores.database
    await kysely
      .insertInto('digital_product')
      .values({
        ...{ id: 'prd_kitchen', site_id: 'sit_open_kitchen', slug: 'menu', title: 'Menu' },
        ...{ summary: 'All of it.', file_name: 'menu.pdf', published_at: null, created_at: 1 },
      })
      .execute()
    const { digitalProduct } = await operator.run('{ digitalProduct(id: "prd_kitchen") { id } }')
    expect(digitalProduct).to.equal(null)
    for (const change of ['publish', 'unpublish', 'archive', 'restore']) {
      const mutation = `mutation { ${change}DigitalProduct(id: "prd_kitchen") { id } }`
      expect((await operator.refused(mutation)).code, change).to.equal('NOT_FOUND')
    }
    const reader = await startOperator(running, { scopes: ['digital_products:read'] })
    const { status, body } = await reader.ask(createProduct, { input: product })
    expect(status).to.equal(403)
    expect(body.error).to.equal('insufficient_scope')
  })
})
