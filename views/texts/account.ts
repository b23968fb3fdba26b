/** The texts of the account: its home, connected apps and notifications. `{app}` and `{site}` are names. */
export const homeTexts = {
  title: 'Your account',
  name: 'Name',
  email: 'E-mail',
  sites: 'Your schools',
  noSite: 'You are not a member of any school at the moment.',
  connect: 'Connect an assistant',
  administer: 'Administer',
  more: 'Manage',
  apps: 'Connected apps',
  notifications: 'Notifications',
  browsers: 'Browsers',
  queries: 'Try the Member API',
  zone: 'Time zone',
  zoneHint: 'For all times, in this browser',
  save: 'Save',
  zoneSaved: 'Saved. All times are now in this time zone.',
}

export const appTexts = {
  title: 'Connected apps',
  intro: 'These apps may use your account. None of them knows your password.',
  none: 'No app is connected.',
  connect: 'Connect an assistant',
  site: 'School',
  remove: 'Remove',
  removeTitle: 'Remove this app?',
  removeHeading: 'Remove {app}?',
  ends: '{app} can no longer see or change anything in your account.',
  endsAtSite: '{app} can no longer see or change anything in your account at {site}.',
  stays:
    'This takes effect at once, on all devices. What the app saved elsewhere stays there. To use it again, connect it again.',
  confirm: 'Remove access',
  removed: 'The app was removed. It no longer has access.',
}

export const notificationTexts = {
  title: 'Notifications',
  intro: 'Choose what you want to hear about.',
  none: 'Your schools send no notifications that you can choose.',
  save: 'Save',
  saved: 'Your choice was saved.',
  topics: {
    access: 'Access to courses and products',
    announcements: 'Announcements',
    consulting: 'Consulting',
    course_updates: 'News in your courses',
    event_reminders: 'Reminders of events',
    replies: 'Replies to you',
  } as Readonly<Record<string, string>>,
  channels: { inbox: 'in your inbox', email: 'by e-mail' } as Readonly<Record<string, string>>,
}
