/** The texts of the sign-in page. `{app}` is the name of an app. */
export const signInTexts = {
  to: 'to continue to {app}',
  cancel: 'Cancel and go back',
  forgot: 'Forgot your password?',
  signUp: 'Create an account',
  routes: 'Leave it empty if your school or company signs you in.',
  neverSeen: '{app} never sees your password.',
  confirms: 'Confirm that it is you. The next page shows or changes sensitive data.',
  twoFactors:
    'Two factors are needed: a passkey with your PIN, fingerprint or face, or your password and a second factor. If you have neither, {add}, then come back.',
  addFactor: 'add one in your account (new tab)',
}

/** The texts of the consent page. `{host}` is the host of the app, and `{from}` the website that describes it. */
export const consentTexts = {
  title: 'Allow access?',
  heading: 'Allow {app} to use your account?',
  asksMore: '{app} asks for more than you allowed before. What is new comes first.',
  can: { see: 'It can see', change: 'It can change' },
  added: 'New',
  more: '{count} more',
  app: 'App',
  site: 'School',
  account: 'Account',
  otherAccount: 'Use another account',
  leadsTo: 'You will go back to {host}.',
  allow: 'Allow',
  deny: 'Don’t allow',
  removable: 'You can remove the app at any time under Connected apps in your account.',
  warnings: warnings(),
}

/** The warning about each kind of app that was not fully checked: a title, and what to do. */
function warnings(): Readonly<Record<string, readonly [title: string, text: string]>> {
  const device = [
    'This is a program on your own computer.',
    'Any program can use this name. Only continue if you just started it yourself.',
  ] as const
  return {
    'self-declared': [
      'We have not checked this app.',
      'It chose its name itself. Only continue if you trust {from}.',
    ],
    'vendor-connection': [
      'Is this your own connection?',
      'Everybody who uses {app} can make one. Only continue if you just made it yourself, at {host}.',
    ],
    loopback: device,
    'vendor-on-device': device,
  }
}
