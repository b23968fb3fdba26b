// Shows the buttons of password fields, which reveal the password. It runs in a browser.
for (const button of globalThis.document.querySelectorAll('.password button')) {
  const field = button.previousElementSibling
  const word = button.firstChild
  const show = (shown) => {
    if (shown === (field.type === 'text')) return
    field.type = shown ? 'text' : 'password'
    const { other } = button.dataset
    button.dataset.other = word.data
    word.data = other
  }
  button.hidden = false
  button.addEventListener('click', () => show(field.type === 'password'))
  // Browsers save a password only from a field of the type `password`.
  field.form.addEventListener('submit', () => show(false))
}
