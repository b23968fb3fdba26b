// Starts GraphiQL on the page of query-page.ts. It runs in a browser, after React and GraphiQL.
{
  const { React, ReactDOM, GraphiQL, document, fetch, matchMedia, sessionStorage } = globalThis
  const place = document.getElementById('graphiql')
  const plain = document.getElementById('plain')

  // GraphiQL's packages add this nonce to the styles that they insert, so the Content-Security-Policy allows them.
  globalThis.__webpack_nonce__ = document.currentScript.nonce

  const run = async ({ query, variables, operationName }) => {
    const response = await fetch(place.dataset.address, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Form-Token': place.dataset.token },
      body: JSON.stringify({ query, variables, operationName }),
    })
    const answer = await response.json()
    // An error response of the service is not a GraphQL response, so convert it to one.
    const { error, error_description: why } = answer
    return error === undefined ? answer : { errors: [{ message: why ?? error }] }
  }

  // GraphiQL needs a wide window. In a narrow one, keep the plain form.
  const hasRoom = matchMedia('(min-width: 44rem)').matches
  if (hasRoom && place && React && ReactDOM && GraphiQL) {
    place.hidden = false
    plain.hidden = true
    const settings = {
      fetcher: run,
      defaultQuery: place.dataset.query,
      defaultEditorToolsVisibility: 'variables',
      isHeadersEditorEnabled: false,
      // Forget entered queries when the tab is closed, because other people may use this computer.
      storage: sessionStorage,
    }
    ReactDOM.createRoot(place).render(React.createElement(GraphiQL, settings))
  }
}
