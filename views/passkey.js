// Uses or creates a passkey for the form of passkey-form.ts. It runs in a browser.
{
  const { document, navigator, AbortController, PublicKeyCredential: Passkey } = globalThis
  const form = document.getElementById('passkey')
  const problem = document.getElementById('passkey-problem')
  const { purpose, failed, held } = form.dataset
  const options = JSON.parse(form.dataset.options)
  let autofill
  let isAsking = false

  const ask = async (more) => {
    const isNew = purpose === 'create'
    const parse = isNew ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON'
    const publicKey = Passkey[parse](options)
    const credential = await navigator.credentials[isNew ? 'create' : 'get']({ publicKey, ...more })
    form.elements.credential.value = JSON.stringify(credential)
    form.submit()
  }

  // Lists passkeys among the e-mail addresses that the browser suggests.
  const offer = async () => {
    if (purpose !== 'use' || !(await Passkey.isConditionalMediationAvailable?.())) return
    autofill = new AbortController()
    // If it fails, the person signs in another way.
    await ask({ mediation: 'conditional', signal: autofill.signal }).catch(() => {})
  }

  const begin = async (event) => {
    event.preventDefault()
    if (isAsking) return
    isAsking = true
    autofill?.abort()
    problem.hidden = true
    try {
      await ask()
    } catch ({ name }) {
      problem.textContent = name === 'InvalidStateError' ? held : failed
      problem.hidden = false
      isAsking = false
      await offer()
    }
  }

  if (Passkey?.parseRequestOptionsFromJSON) {
    form.addEventListener('submit', begin)
    form.hidden = false
    document.getElementById('passkey-unsupported')?.remove()
    void offer()
  } else form.remove()
}
