// Loads GraphiQL when the person asks for it, on the page of query-page.ts. It runs in a browser.
{
  const { document, fetch, matchMedia, sessionStorage } = globalThis
  const place = document.getElementById('graphiql')
  const open = document.getElementById('open-graphiql')
  const { nonce } = document.currentScript

  // GraphiQL's packages add this nonce to the styles that they insert, so the Content-Security-Policy allows them.
  globalThis.__webpack_nonce__ = nonce

  const run = async ({ query, variables, operationName }) => {
    const response = await fetch(place.dataset.address, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Form-Token': place.dataset.token },
      body: JSON.stringify({ query, variables, operationName }),
    })
    const answer = await response.json()
    // Error responses of the service are not GraphQL responses, so convert them.
    const { error, error_description: why } = answer
    return error === undefined ? answer : { errors: [{ message: why ?? error }] }
  }

  // Stored queries belong to one person, API and site. The end of the session removes all of them.
  const prefix = `${place.dataset.owner} ${place.dataset.address} `
  const storage = {
    getItem: (key) => sessionStorage.getItem(prefix + key),
    setItem: (key, value) => sessionStorage.setItem(prefix + key, value),
    removeItem: (key) => sessionStorage.removeItem(prefix + key),
    clear: () => sessionStorage.clear(),
    get length() {
      return sessionStorage.length
    },
  }

  const add = (tag, properties) =>
    new Promise((resolve, reject) => {
      const element = document.createElement(tag)
      Object.assign(element, { ...properties, nonce, onload: resolve, onerror: reject })
      document.head.append(element)
    })

  // Repairs the accessibility of GraphiQL: CodeMirror's fields have no labels, its scroll areas are not in the tab
  // order, and history entries have a label that differs from their text.
  const repair = () => {
    for (const entry of place.querySelectorAll('.graphiql-history-item-label')) {
      entry.removeAttribute('aria-label')
    }
    for (const editor of place.querySelectorAll('.CodeMirror')) {
      const name = editor.closest('section')?.getAttribute('aria-label') ?? 'Query'
      editor.querySelector('textarea')?.setAttribute('aria-label', name)
      const area = editor.querySelector('.CodeMirror-scroll')
      area.tabIndex = 0
      area.setAttribute('role', 'group')
      area.setAttribute('aria-label', `${name}, text`)
    }
  }

  const start = async () => {
    open.disabled = true
    const { stylesheet, scripts } = place.dataset
    await add('link', { rel: 'stylesheet', href: stylesheet })
    for (const src of scripts.split(' ')) await add('script', { src })
    const { React, ReactDOM, GraphiQL, MutationObserver } = globalThis
    place.hidden = false
    document.getElementById('plain').hidden = true
    open.parentElement.hidden = true
    const settings = {
      fetcher: run,
      defaultQuery: document.getElementById('query').value,
      defaultEditorToolsVisibility: 'variables',
      isHeadersEditorEnabled: false,
      showPersistHeadersSettings: false,
      storage,
    }
    new MutationObserver(repair).observe(place, { childList: true, subtree: true })
    ReactDOM.createRoot(place).render(React.createElement(GraphiQL, settings))
  }

  // GraphiQL needs a wide window. In a narrow window, keep the plain form.
  open.parentElement.hidden = !matchMedia('(min-width: 44rem)').matches
  open.addEventListener('click', () => start().catch(() => (open.disabled = false)))
}
