-- Who was the first to allow something that returned to a callback: one person keeps so many from giving way.
alter table platform_callback add column used_by text;

create index platform_callback_by_user on platform_callback (client_id, used_by)
  where used_by is not null;
