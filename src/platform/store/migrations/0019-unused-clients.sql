-- Clients that registered themselves and with which nobody allowed anything yet. The record of each is OAuth
-- state; here is who made how many of them. A network is a keyed digest of an address, of IPv6 its /64.

create table unused_client (
  client_id text not null primary key,
  network text not null,
  registered_at bigint not null,
  expires_at bigint not null
);

create index unused_client_by_network on unused_client (network, registered_at);
create index unused_client_by_expiry on unused_client (expires_at);
