-- Who is signed in at an application that wants to hear of sign-outs: one row for each exchange of a code
-- with openid, as long as what came of it can live.
create table relying_party_session (
  family_id text not null primary key,
  grant_id text not null references oauth_grant (id) on delete cascade,
  client_id text not null,
  person_id text not null,
  -- As the id_token has it.
  sid text,
  started_at bigint not null,
  expires_at bigint not null
);

create index relying_party_session_by_grant on relying_party_session (grant_id);
create index relying_party_session_by_person on relying_party_session (person_id, client_id);
create index relying_party_session_by_expiry on relying_party_session (expires_at);

-- What an application has yet to be told. A row goes when it was told, or after the last try.
create table sign_out_notice (
  id text not null primary key,
  client_id text not null,
  person_id text not null,
  sid text,
  reason text not null,
  created_at bigint not null,
  attempts integer not null,
  next_attempt_at bigint not null
);

create index sign_out_notice_by_time on sign_out_notice (next_attempt_at);
