-- What a person allowed a client, the grant, is one row here in every deployment. The engine's Grant
-- model is served from it: "allowed" is what the engine keeps of it (scopes by resource, claims,
-- refusals) as JSON, and everything that policy asks for is a column. Ending is a mark, so that the
-- log can say of a token that its grant has ended until the row expires.
create table oauth_grant (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  client_id text not null,
  client_name text not null,
  client_origin text not null,
  site_id text references site (id) on delete cascade,
  document_fingerprint text,
  allowed text,
  granted_at bigint not null,
  expires_at bigint not null,
  ended_at bigint,
  end_reason text,
  last_used_at bigint
);

-- Whoever asks by person or client wants grants that live, however many ended ones there are.
create index oauth_grant_by_person on oauth_grant (person_id, client_id) where ended_at is null;
create index oauth_grant_by_client on oauth_grant (client_id, person_id) where ended_at is null;
create index oauth_grant_by_site on oauth_grant (site_id);
create index oauth_grant_by_expiry on oauth_grant (expires_at);

-- The names of the scopes in "allowed", for lists and for ending every grant that holds one.
create table oauth_grant_scope (
  grant_id text not null references oauth_grant (id) on delete cascade,
  scope text not null,
  primary key (grant_id, scope)
);

-- Calls per day; a day is the number of days since 1970-01-01 in UTC.
create table oauth_grant_day (
  grant_id text not null references oauth_grant (id) on delete cascade,
  day integer not null,
  calls integer not null,
  primary key (grant_id, day)
);

create index oauth_grant_day_by_day on oauth_grant_day (day);

-- A browser continues its grant at every sign-in, and each code exchange begins a family of refresh
-- tokens below it. The id is the digest of the code.
create table refresh_token_family (
  id text not null primary key,
  grant_id text not null references oauth_grant (id) on delete cascade,
  started_at bigint not null
);

create index refresh_token_family_by_grant on refresh_token_family (grant_id);
create index refresh_token_family_by_start on refresh_token_family (started_at);

-- A grant of the version before was a record of the OAuth state with a connection beside it. Its id
-- was "<site>~<43 random characters>.<fingerprint>", of which site and fingerprint may be absent.
-- Where the OAuth state lives in Redis the record is taken over at the grant's next use.
insert into oauth_grant
select
  c.grant_id, c.person_id, c.client_id, c.client_name, c.client_origin, c.site_id,
  nullif(substr(c.grant_id, coalesce(length(c.site_id) + 1, 0) + 45), ''),
  s.payload, c.granted_at, c.expires_at, null, null, c.last_used_at
from connection c
left join oauth_state s on s.model = 'Grant' and s.id = c.grant_id;

insert into oauth_grant_scope select grant_id, scope from connection_scope;
insert into oauth_grant_day select grant_id, day, calls from connection_day;

-- What has no connection was ended, and must not come back.
delete from oauth_state where model = 'Grant';

-- The audit trail tells of grants in today's words.
update audit_event set action = 'grant.remove' where action = 'connection.remove';
update audit_event set action = 'grant.end' where action = 'connection.revoke';
update audit_event set action = 'grants.end_all' where action = 'connections.revoke_all';

drop table connection_day;
drop table connection_scope;
drop table connection;
