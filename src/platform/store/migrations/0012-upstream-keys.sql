-- Keys that sign what is forwarded to the platform's own API, in a table of their own: whoever reads
-- signing_key, an older version among them, can take none of these for a key of id_tokens.

create table upstream_key (
  kid text not null primary key,
  state text not null check (state in ('next', 'current', 'retired')),
  public_jwk text not null,
  sealed_private text not null,
  created_at bigint not null,
  current_at bigint,
  retired_at bigint
);

create unique index upstream_key_one_next on upstream_key (state) where state = 'next';
create unique index upstream_key_one_current on upstream_key (state) where state = 'current';
