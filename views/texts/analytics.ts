/** The texts of the analytics of a site. `{count}` is a number. */
export const analyticsTexts = {
  title: 'Analytics',
  period: 'Period',
  days: '{count} days',
  utc: 'Days are in UTC, and today is not over. Counted {time}.',
  inAll: '{count} in all',
  today: '{count} today',
  people: 'Different people: {count}',
  most: 'at most {count} a day',
  numbers: '{title}: the numbers',
  download: 'Download all figures as CSV',
  empty: 'Members used no app in these days. Connect an app, and tell your members its address.',
  firstStep: 'Connect an assistant',
  reasons: 'Refusals by reason',
  exact: 'Each application lists its last refusals with the exact reason.',
  measures: {
    connected: { title: 'Connected apps', what: 'Apps that members had connected on each day.' },
    people: { title: 'People', what: 'Members who used an app on each day.' },
    calls: { title: 'Calls', what: 'Requests of apps for members on each day.' },
    signIns: { title: 'Sign-ins', what: 'Sign-ins of members to apps on each day.' },
    refusals: { title: 'Refusals', what: 'Refused requests of the school’s own apps on each day.' },
  },
}
