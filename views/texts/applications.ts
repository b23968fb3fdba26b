/** The texts of the applications of a site. */
export const applicationTexts = {
  add: 'New application',
  addAssistant: 'Add an assistant',
  search: 'Name',
  none: 'There is no application yet. Begin with an assistant that your members know.',
  noMatch: 'No application matches.',
  unused: 'not yet',
  kinds: { assistant: 'assistant', public: 'public', confidential: 'confidential' },
  setUp: 'Set-up',
}
