-- What lists, figures and announcements of a site are found by, however many there are.

-- The registrations of an event, the newest first, and how many of them stand.
create index event_registration_by_time on event_registration (event_id, registered_at, id);
create index event_registration_standing on event_registration (event_id)
  where cancelled_at is null;
drop index event_registration_by_event;
create index event_by_start on event (site_id, starts_at, id);

-- Who gets an announcement, in the order in which it is delivered.
create index notification_subscription_enabled
  on notification_subscription (site_id, topic, channel, person_id) where enabled_at is not null;

-- A removed announcement stays, unseen, until its notifications are gone: they go in steps too.
alter table post add column removed_at bigint;
create index post_removed on post (removed_at) where removed_at is not null;

-- The grants of a site, so many at a time.
create index oauth_grant_of_site on oauth_grant (site_id, id);
drop index oauth_grant_by_site;
