-- Clients that describe themselves by a Client ID Metadata Document, whose address is their id.

-- The last copy of a document that was accepted, with what an operator decided about the client. An
-- approval is for the document as it was then: reviewed_fingerprint names it.
create table document_client (
  client_id text not null primary key,
  document text not null,
  fingerprint text not null,
  first_seen_at bigint not null,
  fetched_at bigint not null,
  fresh_until bigint not null,
  review text check (review in ('approved', 'blocked')),
  reviewed_fingerprint text,
  reviewed_by text references person (id) on delete set null,
  reviewed_at bigint
);

create index document_client_by_time on document_client (first_seen_at, client_id);
create index document_client_by_fetch on document_client (fetched_at) where review is null;
create index document_client_by_reviewer on document_client (reviewed_by);
