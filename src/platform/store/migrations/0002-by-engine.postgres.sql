-- SQL that is specific to PostgreSQL. The .sqlite.sql file of the same name has the counterpart.

-- The words of each person's name and e-mail address in lower case, written by triggers (platform/store/search.ts). Each
-- row also has all words of the person, so a search for several words reads only one range of the index. The collation
-- compares bytes, because language collations do not keep words with the same prefix together.
create table person_word (
  word text collate "C" not null,
  person_id text not null references person (id) on update cascade on delete cascade,
  words text not null,
  primary key (word, person_id) include (words)
);
create index person_word_by_person on person_word (person_id, word);

create function words_of(id text, name text, email text) returns setof person_word language sql stable as $$
  select unnest(words), id, ' ' || array_to_string(words, ' ') || ' '
  from (select array(
    select distinct word collate "C"
    from regexp_split_to_table(lower(name || ' ' || email), '[-[:space:].@_''+,()]+') as word
    where word <> '' order by 1)) as split (words)
$$;

create function insert_person_words() returns trigger language plpgsql as $$
begin
  insert into person_word
    select found.* from written, words_of(id, name, email_canonical) as found where deleted_at is null;
  return null;
end
$$;

create function update_person_words() returns trigger language plpgsql as $$
begin
  delete from person_word where person_id = new.id;
  insert into person_word select * from words_of(new.id, new.name, new.email_canonical) where new.deleted_at is null;
  return null;
end
$$;

-- Runs once for each statement, to keep imports fast.
create trigger person_insert_words after insert on person
  referencing new table as written for each statement execute function insert_person_words();
create trigger person_update_words after update on person for each row
  when ((new.name, new.email_canonical) is distinct from (old.name, old.email_canonical))
  execute function update_person_words();

-- Leaves free space on each page. A refresh changes no indexed column, so if the new row version fits on its page, no
-- index is written (a heap-only tuple). This space makes all refreshes heap-only, instead of nine in ten.
alter table refresh_token_family set (fillfactor = 80);

-- Counts of request limits, shared by all processes if there is no Redis (platform/store/shared-counts.ts). Unlogged,
-- because losing the counts in a crash is acceptable: each window ends soon.
create unlogged table request_count (
  key text not null primary key,
  points bigint not null,
  ends_at bigint not null
);
create index request_count_ends_at on request_count (ends_at);

-- Every change to a row of a client increments the client's version, including manual changes. A cached client is
-- used until the version changes (oauth/clients/find-client.ts). Versions start as the time in epoch milliseconds, so
-- the version of a deleted metadata document is never reused.
create table client_version (
  client_id text not null primary key,
  version bigint not null default (extract(epoch from clock_timestamp()) * 1000)::bigint
);

create function count_client_version() returns trigger language plpgsql as $$
begin
  insert into client_version (client_id)
    select changed.client_id
    from (
      select case when tg_op = 'INSERT' then null else old.client_id end as client_id
      union
      select case when tg_op = 'DELETE' then null else new.client_id end
    ) as changed
    where changed.client_id is not null
    order by 1
    on conflict (client_id) do update set version = client_version.version + 1;
  return null;
end
$$;

create function forget_client_version() returns trigger language plpgsql as $$
begin
  delete from client_version where client_id = old.client_id;
  return null;
end
$$;

create trigger oauth_application_counts after insert or update or delete on oauth_application
  for each row execute function count_client_version();
create trigger oauth_application_redirect_uri_counts after insert or update or delete on oauth_application_redirect_uri
  for each row execute function count_client_version();
create trigger oauth_application_post_logout_uri_counts after insert or update or delete on oauth_application_post_logout_uri
  for each row execute function count_client_version();
create trigger oauth_application_scope_counts after insert or update or delete on oauth_application_scope
  for each row execute function count_client_version();
create trigger client_secret_counts after insert or update or delete on client_secret
  for each row execute function count_client_version();
create trigger integration_override_counts after insert or update or delete on integration_override
  for each row execute function count_client_version();
create trigger document_site_review_counts after insert or update or delete on document_site_review
  for each row execute function count_client_version();
create trigger document_client_counts after insert or update on document_client
  for each row execute function count_client_version();
create trigger document_client_forgets after delete on document_client
  for each row execute function forget_client_version();

-- Messages to other servers: mail, webhooks and sign-out notices. A row is added in the transaction of the change that causes the message,
-- and deleted when another server has accepted it, or when it is dropped. "due_at" is the time of the next attempt or,
-- during an attempt, when another process may try. Rows with the same queue and subject are sent in the order of
-- "position". "payload" is JSON without secrets.
create table outbox (
  position bigint generated by default as identity primary key,
  id text not null unique,
  kind text not null,
  queue text not null,
  subject text,
  payload text not null,
  created_at bigint not null,
  due_at bigint not null,
  attempts integer not null,
  last_error text
);
create index outbox_by_time on outbox (due_at);
create index outbox_by_subject on outbox (queue, subject, position);
