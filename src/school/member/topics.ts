/** The topics that platforms send, as they are in data; a site's own announcements may have others. */
export const knownTopics = [
  'access',
  'announcements',
  'consulting',
  'course_updates',
  'event_reminders',
  'replies',
] as const

/** A topic, when it is one of those that are known. */
export function knownTopicOf(topic: string): (typeof knownTopics)[number] | undefined {
  return knownTopics.find((known) => known === topic)
}
