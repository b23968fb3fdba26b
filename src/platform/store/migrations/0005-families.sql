-- A family of tokens is one row below its grant, however often it is refreshed. No token is kept: one
-- names its family, and "seed" with a key that is not in the database says whether it is genuine
-- (token/token-values.ts). "token" is what all of them say, as JSON.
--
-- A code is exchanged once, because the id of the family that it begins is the digest of the code.
-- "steps" are the times of the last refreshes in epoch milliseconds, or of the start if there was none.
-- "kept_until" never moves, so that a refresh changes no index.
drop table refresh_token_family;

create table refresh_token_family (
  id text not null primary key,
  grant_id text not null references oauth_grant (id) on delete cascade,
  seed text not null,
  token text not null,
  generation integer not null,
  steps text not null,
  started_at bigint not null,
  kept_until bigint not null,
  ended_at bigint
);

create index refresh_token_family_by_grant on refresh_token_family (grant_id);
create index refresh_token_family_by_end on refresh_token_family (kept_until);

-- No token is ended one by one any more, so that nothing is looked up by its grant. The columns
-- grant_id and successor_seed are of the version before.
drop index oauth_state_by_grant;

-- Nothing asks for changes by subject or by person; each of them cost a write at every change.
drop index audit_event_by_subject;
drop index audit_event_by_actor;

-- How often something was changed of what is compiled of a client. Triggers count, so that a change
-- made by hand counts too (0006, in the words of either engine).
create table client_version (
  client_id text not null primary key,
  version bigint not null
);
