-- Events that nobody decided as an operator stand beside those that somebody did: who it was about, by which client,
-- from where, why, and how many times within the minute.
alter table audit_event add column person_id text;
alter table audit_event add column client_id text;
alter table audit_event add column address text;
alter table audit_event add column reason text;
alter table audit_event add column times integer;
-- When it went out with the stream of events; nothing where none is asked for.
alter table audit_event add column streamed_at bigint;

create index audit_event_by_client on audit_event (client_id, occurred_at);
create index audit_event_by_person on audit_event (person_id, occurred_at);
create index audit_event_to_stream on audit_event (occurred_at, id) where streamed_at is null;

-- How many requests were refused to the applications of a site, by day and error.
create table site_refusal_day (
  site_id text not null,
  day integer not null,
  error text not null,
  refusals integer not null,
  primary key (site_id, day, error)
);

create index site_refusal_day_by_day on site_refusal_day (day);

-- The people of a site who used applications are counted some at a time.
create index oauth_grant_people_of_site on oauth_grant (site_id, person_id);
