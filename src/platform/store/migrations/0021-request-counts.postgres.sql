-- What callers did within their windows, as the processes of a service count it together where there is no
-- Redis (limits/limit-table.ts). Nothing is lost with it that a window would not end, so that it is no part of the log.
create unlogged table request_count (
  key text not null primary key,
  points bigint not null,
  ends_at bigint not null
);
create index request_count_ends_at on request_count (ends_at);
