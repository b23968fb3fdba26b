-- What must stay decided although another store comes back older, and who decides about metadata documents.

-- Sessions of browsers that were signed out, by the digest of their ids: a Redis that comes back older may still
-- have them. A row is there for as long as the session could have lived.
create table signed_out_session (
  digest text not null primary key,
  signed_out_at bigint not null,
  kept_until bigint not null
);

create index signed_out_session_by_expiry on signed_out_session (kept_until);

-- The Redis servers that were met, by the id that each start of one has, and since when: what was used before
-- that, this one may have forgotten. The first of all was met at 0: before it nothing was used here. A row for
-- each start of a Redis, for ever.
create table redis_server (
  run_id text not null primary key,
  seen_at bigint not null
);

-- What the operators of a site decided about a client of a metadata document, for that site. What
-- document_client.review says is for every site, and of people with the platform's role. It stays when the copy of
-- the document goes, so that nothing blocked comes back by being forgotten.
create table document_site_review (
  client_id text not null,
  site_id text not null references site (id) on delete cascade,
  review text not null check (review in ('approved', 'blocked')),
  fingerprint text not null,
  reviewed_by text references person (id) on delete set null,
  reviewed_at bigint not null,
  primary key (client_id, site_id)
);

create index document_site_review_by_site on document_site_review (site_id);
create index document_site_review_by_reviewer on document_site_review (reviewed_by);

-- People of the platform itself, who decide for every site.
create table platform_reviewer (
  person_id text not null primary key references person (id) on delete cascade,
  granted_at bigint not null
);

-- Until now the approval of any one site's operator was for all sites. It goes on at the sites that they
-- operate; a block goes on everywhere.
insert into document_site_review (client_id, site_id, review, fingerprint, reviewed_by, reviewed_at)
select distinct d.client_id, r.site_id, 'approved', d.reviewed_fingerprint, d.reviewed_by, d.reviewed_at
from document_client d
join site_role r on r.person_id = d.reviewed_by and r.role in ('owner', 'admin')
where d.review = 'approved' and d.reviewed_fingerprint is not null and d.reviewed_at is not null;

update document_client
set review = null, reviewed_fingerprint = null, reviewed_by = null, reviewed_at = null
where review = 'approved';
