-- Every change of a row that a client is made of counts the version of the client up, whoever makes it:
-- what was compiled of a client is used while the version is still the same (clients/kept-clients.ts).
-- A version begins with the time, in epoch milliseconds. So that of a metadata document may go with it,
-- since anybody makes those, and never comes back as the same one.

create trigger oauth_application_insert_counts after insert on oauth_application begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_update_counts after update on oauth_application begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_delete_counts after delete on oauth_application begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;

create trigger oauth_application_redirect_uri_insert_counts after insert on oauth_application_redirect_uri begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_redirect_uri_update_counts after update on oauth_application_redirect_uri begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_redirect_uri_delete_counts after delete on oauth_application_redirect_uri begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;

create trigger oauth_application_post_logout_uri_insert_counts after insert on oauth_application_post_logout_uri begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_post_logout_uri_update_counts after update on oauth_application_post_logout_uri begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_post_logout_uri_delete_counts after delete on oauth_application_post_logout_uri begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;

create trigger oauth_application_scope_insert_counts after insert on oauth_application_scope begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_scope_update_counts after update on oauth_application_scope begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger oauth_application_scope_delete_counts after delete on oauth_application_scope begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;

create trigger client_secret_insert_counts after insert on client_secret begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger client_secret_update_counts after update on client_secret begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger client_secret_delete_counts after delete on client_secret begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;

create trigger integration_override_insert_counts after insert on integration_override begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger integration_override_update_counts after update on integration_override begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger integration_override_delete_counts after delete on integration_override begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;

create trigger document_client_insert_counts after insert on document_client begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger document_client_update_counts after update on document_client begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where old.client_id <> new.client_id
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger document_client_delete_counts after delete on document_client begin
  delete from client_version where client_id = old.client_id;
end;
