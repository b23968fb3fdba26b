-- A file that is sent again under the same name is the one that is there already.
create unique index stored_file_by_content on stored_file (site_id, sha256, name);
