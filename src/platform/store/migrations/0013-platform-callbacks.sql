-- Callbacks of platforms that give each connection an address of its own: what a pattern of
-- config/integrations.json admitted at a registration, compared exactly from then on.

create table platform_callback (
  client_id text not null,
  uri text not null,
  registered_at bigint not null,
  -- When a person last allowed something that returned there.
  used_at bigint,
  expires_at bigint not null,
  primary key (client_id, uri)
);

create index platform_callback_by_expiry on platform_callback (expires_at);
-- Those that give way first when a platform has as many as it may have.
create index platform_callback_unused on platform_callback (client_id, registered_at)
  where used_at is null;
