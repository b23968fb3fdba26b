// Shows the buttons that copy a text. Without this script, one click selects the text.
for (const button of document.querySelectorAll('.copyable > button')) {
  if (!navigator.clipboard) break
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent)
    button.textContent = button.dataset.other
  })
}
