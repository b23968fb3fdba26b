-- Every change of a row that a client is made of counts the version of the client up, whoever makes it:
-- what was compiled of a client is used while the version is still the same (clients/kept-clients.ts).
-- A version begins with the time, in epoch milliseconds. So that of a metadata document may go with it,
-- since anybody makes those, and never comes back as the same one.

create function count_client_version() returns trigger language plpgsql as $$
begin
  insert into client_version (client_id, version)
    select changed.client_id, (extract(epoch from clock_timestamp()) * 1000)::bigint
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
create trigger document_client_counts after insert or update on document_client
  for each row execute function count_client_version();
create trigger document_client_forgets after delete on document_client
  for each row execute function forget_client_version();
