-- A decision of a site counts the version of the client up, as every other change of one does (0006).
create trigger document_site_review_insert_counts after insert on document_site_review begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger document_site_review_update_counts after update on document_site_review begin
  insert into client_version (client_id, version)
    select new.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
create trigger document_site_review_delete_counts after delete on document_site_review begin
  insert into client_version (client_id, version)
    select old.client_id, cast(unixepoch('subsec') * 1000 as integer) where true
    on conflict (client_id) do update set version = client_version.version + 1;
end;
