import { readScope, writeScope } from '../../directory/scopes/catalogue.ts'
import { pageSelection } from './document-tool.ts'
import { changeTools, itemTools, lookupTool, operatorTool, readBoth } from './operator.ts'
import type { Tool } from './tool.ts'

const lecture = 'id courseId sectionId position title durationSeconds'
const appearance = `displayName logoFileId accentColor backgroundColor signInWords consentWords
  texts { language displayName signInWords consentWords }`

/** All tools for operators of a site, by area. */
export const operatorTools: readonly Tool[] = [
  lookupTool('school', {
    name: 'get_site',
    title: 'Get the site',
    description: "Returns the name and settings of the token's site.",
    field: 'site',
    selection:
      'id slug name description contactEmail address timeZone language languages createdAt',
  }),
  ...changeTools('school', {
    update_site: {
      title: 'Change the site',
      description:
        "Changes the name and settings of the token's site. Omitted arguments keep their values.",
      returns: 'site { name description contactEmail address timeZone language languages }',
    },
  }),
  ...readBoth('orders', {
    noun: 'order',
    by: 'id or number',
    selection: `id number placedAt buyer { id name email } totalCents currency couponCode invoiceNumber
      refundedAt items { kind id title }`,
    order: ' and their items',
  }),
  lookupTool('orders', {
    name: 'get_site_revenue',
    title: "Get the site's revenue",
    description:
      'Returns the revenue of a period by currency, in hundredths of the currency: orders placed (gross), refunds ' +
      'made, and net.',
    field: 'revenue',
    selection: `from until
      sums { period currency orderCount grossCents refundCount refundedCents netCents }`,
  }),
  ...itemTools(
    'course',
    'id slug title summary state publishedAt archivedAt createdAt lectureCount enrolmentCount',
  ),
  operatorTool({
    name: 'get_site_curriculum',
    title: 'Get the curriculum of a course',
    description:
      'Returns the sections and lectures of a course by id or slug, in order. Lectures without a section ' +
      'come first.',
    scopes: [readScope('courses'), readScope('curriculum')],
    path: ['course'],
    listedBy: 'list_site_courses',
    selection: `id slug title sections { id position title } lectures { ${lecture} }`,
  }),
  lookupTool('curriculum', {
    name: 'get_site_lecture',
    title: 'Get a lecture',
    description: "Returns one lecture of the token's site.",
    field: 'lecture',
    selection: lecture,
  }),
  ...changeTools(
    'curriculum',
    {
      create_section: 'Creates a section in a course, at a given position or at the end.',
      update_section: 'Renames or moves a section.',
      delete_section: 'Removes a section. Its lectures move before the first section.',
    },
    'section { courseId position title }',
  ),
  ...changeTools(
    'curriculum',
    {
      create_lecture: 'Creates a lecture in a course, at a given position or at the end.',
      update_lecture:
        'Changes the title or duration of a lecture. Omitted arguments keep their values.',
      move_lecture: 'Moves a lecture to another section or position of its course.',
      delete_lecture: 'Removes a lecture and the watch progress in it. This cannot be undone.',
    },
    'lecture { courseId sectionId position title durationSeconds }',
  ),
  ...itemTools(
    'digital_product',
    'id slug title summary fileName state publishedAt archivedAt createdAt buyerCount',
  ),
  ...changeTools('digital_products', {
    set_digital_product_file: {
      title: 'Set the file of a digital product',
      description: 'Sets or removes the file that buyers download.',
    },
  }),
  operatorTool({
    name: 'list_site_files',
    title: "List the site's files",
    description: "Lists the uploaded files of the token's site, newest first.",
    scopes: [writeScope('storage')],
    path: ['files'],
    selection: pageSelection('id name mediaType sizeBytes createdAt'),
  }),
  ...changeTools('storage', {
    request_upload: {
      description:
        'Returns a URL for one upload, valid for ten minutes. Let the person open it, or append ?name=guide.pdf ' +
        'and PUT the bytes. Then call list_site_files.',
      selection: 'url expiresAt',
    },
  }),
  ...itemTools(
    'event',
    `id slug title summary location startsAt endsAt state publishedAt archivedAt createdAt
      registrationCount`,
    `registrations(first: 50) { nodes { id personId name cancelledAt } totalCount }`,
  ),
  ...changeTools(
    'events',
    {
      register_for_event: {
        title: 'Register a person for an event',
        description: 'Registers a person, who must have a role at the site, for an event.',
      },
      cancel_registration:
        "Cancels a person's registration for an event. Takes an id from get_site_event.",
    },
    'registration { eventId personId name registeredAt cancelledAt }',
  ),
  ...readBoth('posts', {
    noun: 'post',
    selection: 'id topic title body link createdAt updatedAt publishedAt deliveredAt',
    order: ': announcements, newest first, including drafts',
  }),
  ...changeTools(
    'posts',
    {
      create_post: 'Creates an announcement as a draft. publish_post sends it.',
      update_post: 'Changes a draft announcement. Omitted arguments keep their values.',
      publish_post: {
        title: 'Send an announcement',
        description:
          'Sends an announcement to the inbox of every member who subscribes to its topic. ' +
          'Afterwards, it can only be removed.',
        effect: 'destroys',
      },
      delete_post: 'Removes an announcement, sent or not, and its notifications.',
    },
    'post { topic title publishedAt deliveredAt }',
  ),
  lookupTool('appearance', {
    name: 'get_site_appearance',
    title: 'Get the sign-in design',
    description: 'Returns the name, logo, colors and texts of the sign-in and consent pages.',
    field: 'appearance',
    selection: `${appearance} updatedAt`,
  }),
  ...changeTools('appearance', {
    update_appearance: {
      title: 'Change the sign-in design',
      description:
        'Changes the name, logo, colors or texts of the sign-in and consent pages. Omit an argument to keep its ' +
        'current value.',
      returns: `appearance { ${appearance} }`,
    },
  }),
  lookupTool('analytics', {
    name: 'get_site_analytics',
    title: "Get the site's statistics",
    description:
      'Returns daily counts for at most 92 days: enrolments, active members, completed courses, sign-ins, ' +
      'connected apps and API calls, but no page views.',
    field: 'analytics',
    selection: `from until
      days { date enrolments activeMembers completedCourses signIns connectedApplications calls }`,
  }),
  ...readBoth('members', {
    noun: 'member',
    selection: 'id name email memberSince roles { role since }',
  }),
  ...changeTools('members', {
    invite_member: {
      description:
        'Invites a person to the site by e-mail. The person gets the roles when they accept. ' +
        'Only owners can invite owners. Each call sends an e-mail.',
      mails: true,
      returns: 'invitation { email name roles expiresAt }',
    },
    set_member_roles: {
      title: 'Change the roles of a member',
      description: 'Replaces all roles of a member: include the roles to keep.',
      returns: 'roles { role since }',
    },
    remove_member:
      'Removes all roles of a person (to keep some, use set_member_roles). Access ends at once. Purchases ' +
      'are kept in case the person joins again.',
  }),
  ...readBoth('students', {
    noun: 'student',
    order: ', or of one course',
    selection: 'id name email studentSince enrolmentCount',
    details: `enrolments {
      id course { id slug title } purchasedAt expireDate hasLifetimeAccess hasEnded
      progress { lectureCount completedLectureCount lastWatchedAt }
    }`,
  }),
  ...changeTools(
    'students',
    {
      enrol_student:
        'Enrols a person in a course, without an order. The person must have a role at the site. Send either ' +
        'expireDate or hasLifetimeAccess: true.',
      update_enrolment:
        'Changes the end of an enrolment. Send either expireDate or hasLifetimeAccess: true. get_site_student ' +
        'returns enrolment ids.',
      end_enrolment:
        "Ends an enrolment and the student's access to the course now. get_site_student returns enrolment ids.",
    },
    'enrolment { personId course { slug } expireDate hasLifetimeAccess hasEnded }',
  ),
  ...readBoth('lecturers', {
    noun: 'lecturer',
    selection: 'id name email picture lecturerSince courses { id slug title }',
    order: ' and their courses',
  }),
  ...changeTools(
    'lecturers',
    {
      assign_lecturer: {
        title: 'Assign a lecturer to a course',
        description: 'Assigns a lecturer of the site to a course.',
      },
      unassign_lecturer: {
        title: 'Remove a lecturer from a course',
        description: 'Removes a person from the lecturers of a course.',
      },
    },
    'lecturers { id name }',
  ),
]
