// Starts GraphiQL on the page of query-page.ts. It runs in a browser, after React and GraphiQL.
{
  const { React, ReactDOM, GraphiQL, document, fetch, matchMedia, sessionStorage } = globalThis
  const place = document.getElementById('graphiql')
  const plain = document.getElementById('plain')

  // The packages of GraphiQL that write styles into the page give them this name's value.
  globalThis.__webpack_nonce__ = document.currentScript.nonce

  const run = async ({ query, variables, operationName }) => {
    const response = await fetch(place.dataset.address, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Form-Token': place.dataset.token },
      body: JSON.stringify({ query, variables, operationName }),
    })
    const answer = await response.json()
    // A refusal of the service is no answer of GraphQL.
    const { error, error_description: why } = answer
    return error === undefined ? answer : { errors: [{ message: why ?? error }] }
  }

  // In a small window the plain form is the better one.
  const hasRoom = matchMedia('(min-width: 44rem)').matches
  if (hasRoom && place && React && ReactDOM && GraphiQL) {
    place.hidden = false
    plain.hidden = true
    const settings = {
      fetcher: run,
      defaultQuery: place.dataset.query,
      defaultEditorToolsVisibility: 'variables',
      isHeadersEditorEnabled: false,
      // What was typed is gone with the tab: a computer may be shared.
      storage: sessionStorage,
    }
    ReactDOM.createRoot(place).render(React.createElement(GraphiQL, settings))
  }
}
