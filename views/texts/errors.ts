/** The texts of pages: one file per area, with only strings, so translations can replace them. */

/** The texts of error pages. `{app}` is the name of an app. */
export const errorTexts = {
  title: 'Something went wrong',
  waitTitle: 'Please wait',
  whatToDo: 'What you can do',
  details: 'Details for developers',
  code: 'Error code',
  description: 'Description',
  number: 'Error number',
  sentAddress: 'Address that the app sent',
}

/** Explanations of errors, by error code. Other codes show the description of the error. */
export const happened: ReadonlyMap<string, string> = new Map([
  ['invalid_redirect_uri', 'The app wants to send you to an address that is not on its list.'],
  ['invalid_scope', 'The app asks for more than it may have.'],
  ['not_found', 'There is no page at this address.'],
  ['page_expired', 'This page has expired, or belongs to another browser.'],
  ['server_error', 'The service failed. It is not your fault.'],
  ['temporarily_unavailable', 'The service is not available at the moment.'],
  ['too_many_requests', 'There were too many requests.'],
])
export const appMistake = 'The app sent a request that does not work.'

/** Advice for the person, by error code. */
export const advice: ReadonlyMap<string, string> = new Map([
  ['access_denied', 'Nothing was shared. You can close this page or go back to the app.'],
  ['forbidden', 'Switch to an account that may open it.'],
  [
    'invalid_client',
    'Ask an operator of your site to add this app, or follow the instructions for your assistant. If it worked before, remove this service from the app and add it again.',
  ],
  [
    'invalid_redirect_uri',
    'Only the makers of the app can repair this. Send them the details below.',
  ],
  ['not_found', 'Check the address, or start from your account.'],
  ['page_expired', 'If you came from an app, start again from there.'],
  ['server_error', 'Wait a minute and try again. If it goes on, report the error number below.'],
  ['temporarily_unavailable', 'Wait a minute and try again.'],
  ['too_many_requests', 'Wait a minute and try again.'],
])
export const ownAdvice = 'Go back, load that page again, and try again.'
export const appAdvice =
  'Go back to the app and start again. If it goes on, send the details below to its makers.'
export const signOutAdvice = 'You are still signed in. You can sign out here.'
export const addressAdvice =
  'The address must equal a registered one in every character. Operators of the site see the difference under Refusals of the app.'

export const buttons = {
  account: 'Go to your account',
  back: 'Back to {app}',
  connect: 'How to connect an assistant',
  retry: 'Try again',
  signOut: 'Sign out',
  switch: 'Switch account',
}
