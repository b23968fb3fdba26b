-- What PostgreSQL states in its own words; the .sqlite.sql file of the same name is its counterpart.

-- Search for people by the start of name or address (platform/store/search.ts). Compared byte by byte, because the
-- collation of a language does not keep equal beginnings together.
create index person_by_folded_name on person (lower(name) collate "C", id);
create index person_by_folded_address on person (email_canonical collate "C", id);

-- A refresh updates the row of its family and no index. With room on its page the new version stays there, and no
-- index is written (a heap-only tuple): of all refreshes, instead of nine in ten.
alter table refresh_token_family set (fillfactor = 80);

-- Rate limits that processes count together when there is no Redis (platform/limits/limit-table.ts). A crash loses
-- nothing that the end of a window would not delete, so the write-ahead log does not need it.
create unlogged table request_count (
  key text not null primary key,
  points bigint not null,
  ends_at bigint not null
);
create index request_count_ends_at on request_count (ends_at);

-- Every change of a row that a client consists of increments the version of the client, also a change by hand: a
-- compiled client is used while the version is the same (oauth/clients/find-client.ts). A version starts as the
-- time in epoch milliseconds, so that the deleted version of a metadata document never comes back as the same number.
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
