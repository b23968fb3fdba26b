-- What people allowed, and how it is used. A connection stands beside the engine's grant, in the
-- database, where one statement ends any number of them: a token whose connection is gone is of no
-- use in any process. The names are those of the moment of the consent, for clients without a row.

create table connection (
  grant_id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  client_id text not null,
  client_name text not null,
  client_origin text not null,
  site_id text references site (id) on delete cascade,
  granted_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint
);

create index connection_by_person on connection (person_id, client_id);
create index connection_by_client on connection (client_id, person_id);
create index connection_by_site on connection (site_id);
create index connection_by_expiry on connection (expires_at);

create table connection_scope (
  grant_id text not null references connection (grant_id) on delete cascade,
  scope text not null,
  primary key (grant_id, scope)
);

-- Calls per day; a day is the number of days since 1970-01-01 in UTC.
create table connection_day (
  grant_id text not null references connection (grant_id) on delete cascade,
  day integer not null,
  calls integer not null,
  primary key (grant_id, day)
);

create index connection_day_by_day on connection_day (day);

-- Sessions that began before this moment are over, in every browser.
create table signed_out_everywhere (
  person_id text not null primary key references person (id) on delete cascade,
  signed_out_at bigint not null
);

-- The last refusals of each site's application, for its operator; the client was told less.
create table client_refusal (
  id text not null primary key,
  client_id text not null references oauth_application (client_id) on delete cascade,
  occurred_at bigint not null,
  route text not null,
  error text not null,
  reason text,
  request_id text not null
);

create index client_refusal_by_client on client_refusal (client_id, occurred_at);
