-- Tables and indexes whose SQL is the same for SQLite and PostgreSQL 15. 0002-by-engine has the rest. Conventions: TEXT
-- identifiers, BIGINT epoch milliseconds named *_at, nullable timestamps instead of booleans, rows or JSON texts instead
-- of arrays. A child row that is meaningless without its parent is deleted with it. A semicolon at the end of a line
-- ends a statement.

-- People.

-- A claim that is null was not provided by the platform and is not released. `imported_at` is null for people who
-- joined with an invitation or by self sign-up. Sessions that began by `signed_out_at` are invalid. `deletion_due_at`
-- is when an account will be deleted, unless the person signs in before then. The row of a deleted person is kept,
-- without personal data, so an import cannot create the person again. `imported_hash_digest` is the digest of the
-- password hash that was imported last. `random_order` selects the account whose hash is checked for an address without
-- an account (directory/people/credential-store.ts).
create table person (
  id text not null primary key,
  email text not null,
  email_canonical text not null unique,
  email_verified_at bigint,
  name text not null,
  preferred_username text,
  picture text,
  locale text,
  time_zone text,
  password_hash text,
  imported_hash_digest text,
  random_order double precision not null default (random()),
  disabled_at bigint,
  created_at bigint not null,
  updated_at bigint,
  imported_at bigint,
  signed_out_at bigint,
  deletion_due_at bigint,
  deleted_at bigint
);
create index person_with_password on person (random_order) where password_hash is not null;
create index person_to_delete on person (deletion_due_at) where deletion_due_at is not null;

-- Credentials of WebAuthn, by credential id. `counter` is the signature counter, or 0. `backed_up_at` is null for a
-- passkey bound to its device. `last_challenge` distinguishes a repeated response from a copy, which sets `cloned_at`.
create table passkey (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  public_key text not null,
  counter bigint not null,
  name text not null,
  created_at bigint not null,
  last_used_at bigint,
  last_challenge text,
  backed_up_at bigint,
  cloned_at bigint
);
create index passkey_by_person on passkey (person_id, created_at);

-- The authenticator apps of people (TOTP, RFC 6238). `sealed_secret` is encrypted with the root secret. `last_step` is the
-- time step of the last accepted code, so each code works once. `no_reset_before` is set when a mail replaced the
-- password: until then, no mail can remove the app.
create table totp (
  person_id text not null primary key references person (id) on update cascade on delete cascade,
  sealed_secret text not null,
  confirmed_at bigint not null,
  last_step bigint not null,
  no_reset_before bigint
);

-- Digests of unused recovery codes, which replace a code of the authenticator app. Using a code deletes its row.
create table recovery_code (
  person_id text not null references person (id) on update cascade on delete cascade,
  digest text not null,
  created_at bigint not null,
  primary key (person_id, digest)
);

-- The identities of people at identity providers: the issuer and the `sub` of its id_tokens. `provider_id` is the id of
-- a provider in the configuration, or of a site's provider.
create table linked_identity (
  provider_id text not null,
  issuer text not null,
  subject text not null,
  person_id text not null references person (id) on update cascade on delete cascade,
  linked_at bigint not null,
  last_used_at bigint not null,
  primary key (provider_id, issuer, subject)
);
create index linked_identity_by_person on linked_identity (person_id, linked_at);

-- Digests of the ids of signed-out sessions on our own pages, because a restored Redis may still contain them. A row is
-- kept until the session would have expired.
create table signed_out_session (
  digest text not null primary key,
  signed_out_at bigint not null,
  kept_until bigint not null
);
create index signed_out_session_by_expiry on signed_out_session (kept_until);

create table platform_reviewer (
  person_id text not null primary key references person (id) on update cascade on delete cascade,
  granted_at bigint not null
);

-- Sites, and the roles of people.

create table site (
  id text not null primary key,
  slug text not null unique,
  name text not null,
  description text,
  contact_email text,
  address text,
  time_zone text,
  language text,
  -- The languages of the site's pages and mail, as a JSON list. Empty for all.
  languages text not null default '[]',
  created_at bigint not null
);

create table site_role (
  person_id text not null references person (id) on update cascade on delete cascade,
  site_id text not null references site (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'lecturer', 'student')),
  granted_at bigint not null,
  primary key (person_id, site_id, role)
);
create index site_role_by_site on site_role (site_id, person_id);
-- Lists the people with a role, newest first.
create index site_role_by_time on site_role (site_id, role, granted_at, person_id);
-- Lists members by the time of their oldest role.
create index site_role_by_age on site_role (site_id, granted_at, person_id);

-- The browsers in which people are signed in. `id` is the `uid` of the engine's session, which is no credential. A
-- session without a live row has ended, even if the session store still has its record. `authenticated_at` is when the
-- person last authenticated, `seen_at` when the browser was last used, to within a few minutes. `provider_id` is set if
-- an identity provider authenticated the person. `site_id` is set if that provider belongs to a site, and limits the
-- session to that site.
create table browser_session (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  started_at bigint not null,
  authenticated_at bigint not null,
  acr text not null,
  provider_id text,
  site_id text references site (id) on delete cascade,
  seen_at bigint not null,
  expires_at bigint not null,
  device text not null,
  network text
);
create index browser_session_by_person on browser_session (person_id, seen_at);
create index browser_session_by_expiry on browser_session (expires_at);

-- The identity providers of sites. They are trusted only at their site. `role` is the role that people get at their
-- first sign-in. `domains` are verified by DNS and separated by spaces. People with an address in one of them sign in
-- with the provider.
create table identity_provider (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  name text not null,
  issuer text not null,
  client_id text not null,
  sealed_secret text not null,
  role text not null check (role in ('student', 'lecturer')),
  claims text not null,
  domains text not null default '',
  created_at bigint not null
);
create index identity_provider_by_site on identity_provider (site_id, created_at);

-- The features that a site has enabled.
create table site_feature (
  site_id text not null references site (id) on delete cascade,
  feature text not null,
  enabled_at bigint not null,
  primary key (site_id, feature)
);

-- The sites that demand two factors for sensitive operations. `areas` are the areas of the scope catalogue that are
-- sensitive as a whole, separated by spaces, or `*` for all operations of operators. `max_age_seconds` is null if the
-- time of the sign-in does not matter.
create table site_assurance (
  site_id text not null primary key references site (id) on delete cascade,
  areas text not null,
  max_age_seconds integer
);

-- Single-use links in mails. Using a link deletes its row. Its token and code are derived from kind, id and the root
-- secret. `person_id` is null unless the link is for an account. `browser_digest` is the digest of the cookie of the
-- browser that requested the link, or null; any other browser must send the code. `data` is JSON.
create table one_time_link (
  id text not null primary key,
  kind text not null check (
    kind in ('recovery', 'second_factor', 'invitation', 'address', 'deletion', 'upload')
  ),
  email text not null,
  email_canonical text not null,
  person_id text references person (id) on update cascade on delete cascade,
  site_id text references site (id) on delete cascade,
  data text,
  browser_digest text,
  code_attempts integer not null default 0,
  created_at bigint not null,
  expires_at bigint not null
);
create index one_time_link_by_expiry on one_time_link (expires_at);
create index one_time_link_by_browser on one_time_link (browser_digest) where browser_digest is not null;
create index one_time_link_by_person on one_time_link (person_id);
create index one_time_link_by_site on one_time_link (site_id, kind, created_at);

-- Files of a site. Their content is in the folder for files, or in S3 with FILES_S3_*.
create table stored_file (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  name text not null,
  media_type text not null,
  size_bytes bigint not null,
  sha256 text not null,
  created_by text references person (id) on update cascade on delete set null,
  created_at bigint not null
);
create index stored_file_by_site on stored_file (site_id, created_at, id);
create index stored_file_by_creator on stored_file (created_by);
-- A site stores the same content under the same name only once.
create unique index stored_file_by_content on stored_file (site_id, sha256, name);

-- The look of a site's sign-in, consent and account pages. Null means the default.
create table site_appearance (
  site_id text not null primary key references site (id) on delete cascade,
  display_name text,
  logo_file_id text references stored_file (id) on delete set null,
  accent_color text,
  background_color text,
  sign_in_words text,
  consent_words text,
  -- Texts that replace the name and the two texts above in one language each, as a JSON list.
  texts text not null default '[]',
  updated_at bigint not null
);
create index site_appearance_by_logo on site_appearance (logo_file_id);

-- The idempotency keys of clients, with the id of the created row. A repeated request with the same key creates
-- nothing.
create table change_key (
  site_id text not null references site (id) on delete cascade,
  client_id text not null,
  key text not null,
  digest text not null,
  made_id text not null,
  expires_at bigint not null,
  primary key (site_id, client_id, key)
);
create index change_key_by_expiry on change_key (expires_at);

-- Sites that set which changes by clients need the operator's approval. By default, changes that destroy or publish do.
create table site_approval (
  site_id text not null primary key references site (id) on delete cascade,
  covers text not null check (covers in ('every', 'destructive', 'never')),
  integrations_exempt_since bigint
);

-- Changes by clients that wait for approval, and approved changes that the client has not repeated yet. Using an
-- approval deletes its row. `digest` covers the operation, its arguments, which are JSON, and the text of an
-- announcement that it sends.
create table pending_change (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  person_id text not null references person (id) on delete cascade,
  client_id text not null,
  operation text not null,
  arguments text not null,
  digest text not null,
  expires_at bigint not null,
  approved_at bigint
);
create unique index pending_change_by_call on pending_change (site_id, person_id, client_id, digest);
create index pending_change_by_expiry on pending_change (expires_at);

-- The offers of a site. An archived offer is hidden from visitors, but remains available to its buyers.
-- `first_published_at` is when visitors could first see an offer, even if it is a draft again.

create table course (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  slug text not null,
  title text not null,
  summary text not null,
  url text,
  image_url text,
  published_at bigint,
  archived_at bigint,
  first_published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);

create table course_lecturer (
  course_id text not null references course (id) on delete cascade,
  person_id text not null references person (id) on update cascade on delete cascade,
  primary key (course_id, person_id)
);
create index course_lecturer_by_person on course_lecturer (person_id);

-- A section groups consecutive lectures. The positions of lectures count across the whole course.
create table section (
  id text not null primary key,
  course_id text not null references course (id) on delete cascade,
  position integer not null,
  title text not null,
  created_at bigint not null,
  unique (course_id, position)
);

create table lecture (
  id text not null primary key,
  course_id text not null references course (id) on delete cascade,
  section_id text references section (id) on delete set null,
  position integer not null,
  title text not null,
  duration_seconds integer not null,
  unique (course_id, position)
);
create index lecture_by_section on lecture (section_id);

create table watch_position (
  person_id text not null references person (id) on update cascade on delete cascade,
  lecture_id text not null references lecture (id) on delete cascade,
  position_seconds integer not null,
  watched_at bigint not null,
  primary key (person_id, lecture_id)
);
create index watch_position_by_lecture on watch_position (lecture_id);

create table digital_product (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  slug text not null,
  title text not null,
  summary text not null,
  file_name text not null,
  file_id text references stored_file (id) on delete set null,
  published_at bigint,
  archived_at bigint,
  first_published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);
create index digital_product_by_file on digital_product (file_id);

create table consulting_service (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  slug text not null,
  title text not null,
  summary text not null,
  duration_minutes integer not null,
  published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);

create table event (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  slug text not null,
  title text not null,
  summary text not null,
  location text,
  join_url text,
  starts_at bigint not null,
  ends_at bigint not null,
  published_at bigint,
  archived_at bigint,
  first_published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);
create index event_by_start on event (site_id, starts_at, id);

-- Orders and purchases. A purchase outlives its order.

create table customer_order (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  person_id text not null references person (id) on update cascade on delete cascade,
  number text not null,
  coupon_code text,
  invoice_number text,
  refunded_at bigint,
  total_cents integer not null,
  currency text not null,
  placed_at bigint not null,
  unique (site_id, number)
);
create index customer_order_by_time on customer_order (site_id, placed_at, id);
-- Adds up the refunds of a site.
create index customer_order_by_refund on customer_order (site_id, refunded_at) where refunded_at is not null;
-- Finds a person's orders, at one site or at all sites.
create index customer_order_by_person_and_time on customer_order (person_id, site_id, placed_at, id);

-- `expires_at` is null for lifetime access.
create table course_purchase (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  course_id text not null references course (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  purchased_at bigint not null,
  expires_at bigint,
  unique (person_id, course_id)
);
create index course_purchase_by_time on course_purchase (course_id, purchased_at, id);
create index course_purchase_by_order on course_purchase (order_id);

create table digital_product_purchase (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  digital_product_id text not null references digital_product (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  purchased_at bigint not null,
  unique (person_id, digital_product_id)
);
create index digital_product_purchase_by_product on digital_product_purchase (digital_product_id);
create index digital_product_purchase_by_order on digital_product_purchase (order_id);

-- No unique constraint, because a person can buy the same service repeatedly.
create table consulting_service_purchase (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  consulting_service_id text not null references consulting_service (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  purchased_at bigint not null,
  scheduled_at bigint
);
create index consulting_service_purchase_by_person on consulting_service_purchase (person_id);
create index consulting_service_purchase_by_service on consulting_service_purchase (consulting_service_id);
create index consulting_service_purchase_by_order on consulting_service_purchase (order_id);

create table event_registration (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  event_id text not null references event (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  registered_at bigint not null,
  cancelled_at bigint,
  unique (person_id, event_id)
);
create index event_registration_by_time on event_registration (event_id, registered_at, id);
-- Counts registrations that are not cancelled.
create index event_registration_standing on event_registration (event_id) where cancelled_at is null;
create index event_registration_by_order on event_registration (order_id);

-- Announcements and the inbox.

-- A published post is delivered to inboxes in steps: delivered_to is the last recipient so far, and delivered_at is set
-- after the last recipient. A removed post is hidden, but kept until its notifications are deleted, which also takes
-- several steps.
create table post (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  topic text not null,
  title text not null,
  body text not null,
  link text,
  created_by text references person (id) on update cascade on delete set null,
  created_at bigint not null,
  updated_at bigint not null,
  published_at bigint,
  delivered_to text,
  delivered_at bigint,
  removed_at bigint
);
create index post_by_site on post (site_id, created_at, id);
create index post_by_creator on post (created_by);
create index post_undelivered on post (published_at) where delivered_at is null;
create index post_removed on post (removed_at) where removed_at is not null;

create table notification (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  site_id text not null references site (id) on delete cascade,
  post_id text references post (id) on delete cascade,
  topic text not null,
  title text not null,
  body text not null,
  link text,
  created_at bigint not null,
  read_at bigint
);
create index notification_by_person on notification (person_id, created_at, id);
create index notification_unread on notification (person_id, site_id) where read_at is null;
create index notification_by_site on notification (site_id);
create unique index notification_of_post on notification (post_id, person_id) where post_id is not null;

create table notification_subscription (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  site_id text not null references site (id) on delete cascade,
  topic text not null,
  channel text not null check (channel in ('inbox', 'email')),
  enabled_at bigint,
  unique (person_id, site_id, topic, channel)
);
create index notification_subscription_by_site on notification_subscription (site_id);
-- Finds the recipients of an announcement, in delivery order.
create index notification_subscription_enabled
  on notification_subscription (site_id, topic, channel, person_id) where enabled_at is not null;

-- Clients.

create table oauth_application (
  client_id text not null primary key,
  kind text not null check (kind in ('site', 'resource_server')),
  site_id text references site (id) on delete cascade,
  name text not null,
  auth_method text not null check (auth_method in ('none', 'client_secret_post', 'private_key_jwt')),
  application_type text not null check (application_type in ('web', 'native')),
  -- The entry in config/assistants.json from which an operator created the application.
  assistant text,
  -- The first is set if the application acts for an owner with operator scopes, the second if such grants have no absolute end.
  operator_at bigint,
  endless_at bigint,
  -- JSON lists. Only the import searches scopes.
  redirect_uris text not null default '[]',
  post_logout_redirect_uris text not null default '[]',
  scopes text not null default '[]',
  -- The client's public keys as JSON, or the URL where it publishes them.
  jwks text,
  jwks_uri text,
  -- The first column is set if authorization requests must be pushed, the second if tokens must be sender-constrained.
  pushed_requests_required_at bigint,
  bound_tokens_required_at bigint,
  -- The back-channel logout URI; the second column is set if each notice must contain the session id.
  backchannel_logout_uri text,
  backchannel_logout_session_required_at bigint,
  created_by text references person (id) on update cascade on delete set null,
  created_at bigint not null,
  disabled_at bigint,
  deleted_at bigint
);
create index oauth_application_by_site on oauth_application (site_id);
create index oauth_application_by_creator on oauth_application (created_by);
-- Names must differ, so people can tell the applications of their site apart.
create unique index oauth_application_one_per_name on oauth_application (site_id, kind, lower(name))
  where deleted_at is null;
-- Only one application per site and assistant, even if an operator submits the form twice.
create unique index oauth_application_one_per_assistant on oauth_application (site_id, assistant)
  where assistant is not null and deleted_at is null;

-- No foreign key, because clients of integrations.json have secrets here, but no row in oauth_application.
create table client_secret (
  id text not null primary key,
  client_id text not null,
  digest text not null,
  hint text not null,
  created_at bigint not null,
  expires_at bigint
);
create index client_secret_by_client on client_secret (client_id);

create table integration_override (
  client_id text not null primary key,
  disabled_at bigint,
  updated_at bigint not null
);

-- Callbacks of platforms that use a separate callback for each connection. At registration, a callback must match a
-- pattern in config/integrations.json. Later requests must use exactly that callback.
create table platform_callback (
  client_id text not null,
  uri text not null,
  registered_at bigint not null,
  -- When a person last authorized a connection with this callback, and the first person who did so.
  used_at bigint,
  used_by text,
  expires_at bigint not null,
  primary key (client_id, uri)
);
create index platform_callback_by_expiry on platform_callback (expires_at);
-- Finds the callbacks to evict when a platform reaches its maximum.
create index platform_callback_unused on platform_callback (client_id, registered_at) where used_at is null;
-- Counts the callbacks that one person protects from eviction; their number is limited.
create index platform_callback_by_user on platform_callback (client_id, used_by) where used_by is not null;

-- Self-registered clients that were never authorized. The clients themselves are stored as OAuth state. "network" is a
-- keyed digest of the IP address, or of its /64 for IPv6.
create table unused_client (
  client_id text not null primary key,
  network text not null,
  registered_at bigint not null,
  expires_at bigint not null
);
create index unused_client_by_network on unused_client (network, registered_at);
create index unused_client_by_expiry on unused_client (expires_at);

-- The last accepted copy of a Client ID Metadata Document, whose URL is the client_id. Platform reviewers review it for
-- all sites. An approval applies only to the document with reviewed_fingerprint.
create table document_client (
  client_id text not null primary key,
  document text not null,
  fingerprint text not null,
  first_seen_at bigint not null,
  fetched_at bigint not null,
  fresh_until bigint not null,
  review text check (review in ('approved', 'blocked')),
  reviewed_fingerprint text,
  reviewed_by text references person (id) on update cascade on delete set null,
  reviewed_at bigint
);
create index document_client_by_time on document_client (first_seen_at, client_id);
create index document_client_by_fetch on document_client (fetched_at) where review is null;
create index document_client_by_reviewer on document_client (reviewed_by);

-- The review of a metadata document by the operators of a site, for that site. It outlives the copy of the document, so
-- a blocked client stays blocked.
create table document_site_review (
  client_id text not null,
  site_id text not null references site (id) on delete cascade,
  review text not null check (review in ('approved', 'blocked')),
  fingerprint text not null,
  reviewed_by text references person (id) on update cascade on delete set null,
  reviewed_at bigint not null,
  primary key (client_id, site_id)
);
create index document_site_review_by_site on document_site_review (site_id);
create index document_site_review_by_reviewer on document_site_review (reviewed_by);

-- The latest refusals of each application, for the operators of its site. The client may get less detail.
create table client_refusal (
  id text not null primary key,
  client_id text not null references oauth_application (client_id) on delete cascade,
  occurred_at bigint not null,
  route text not null,
  error text not null,
  reason text,
  request_id text not null
);
create index client_refusal_by_client on client_refusal (client_id, occurred_at);

-- The number of rejected requests of a site's applications, by day (since 1970-01-01, UTC) and error.
create table site_refusal_day (
  site_id text not null,
  day integer not null,
  error text not null,
  refusals integer not null,
  primary key (site_id, day, error)
);
create index site_refusal_day_by_day on site_refusal_day (day);

-- Grants and tokens.

-- Grants: what a person allowed a client to do. The engine's Grant model is built from the row: "allowed" is the
-- engine's part as JSON (scopes by resource, claims, denied scopes), and every value that policy needs is a column. The
-- client's name and origin are copied at the time of consent, because some clients have no row. An ended grant is kept
-- until it expires, so the log can state why its tokens are invalid.
create table oauth_grant (
  id text not null primary key,
  person_id text not null references person (id) on update cascade on delete cascade,
  client_id text not null,
  client_name text not null,
  client_origin text not null,
  site_id text references site (id) on delete cascade,
  document_fingerprint text,
  allowed text not null,
  granted_at bigint not null,
  expires_at bigint not null,
  ended_at bigint,
  end_reason text,
  last_used_at bigint
);
-- Both indexes omit ended grants, because queries by person or client need only active grants.
create index oauth_grant_by_person on oauth_grant (person_id, client_id) where ended_at is null;
create index oauth_grant_by_client on oauth_grant (client_id, person_id) where ended_at is null;
create index oauth_grant_of_site on oauth_grant (site_id, id);
create index oauth_grant_people_of_site on oauth_grant (site_id, person_id);
create index oauth_grant_by_expiry on oauth_grant (expires_at);

-- Every scope name in oauth_grant.allowed, to list or end the grants that have a scope.
create table oauth_grant_scope (
  grant_id text not null references oauth_grant (id) on delete cascade,
  scope text not null,
  primary key (grant_id, scope)
);

-- The number of calls with each grant, by day (since 1970-01-01, UTC).
create table oauth_grant_day (
  grant_id text not null references oauth_grant (id) on delete cascade,
  day integer not null,
  calls integer not null,
  primary key (grant_id, day)
);
create index oauth_grant_day_by_day on oauth_grant_day (day);

-- A token family: all tokens that result from one code exchange. It stays one row, regardless of how often it is
-- refreshed. No token is stored: a token contains the id of its family, and is authenticated with "seed" and a key
-- outside of the database (oauth/token/token-values.ts). "token" has the properties that all tokens of the family
-- share, as JSON. The id is the digest of the authorization code, so a code can be exchanged only once. "steps" are the
-- times of the latest refreshes in epoch milliseconds; at first, the start of the family. "kept_until" never changes,
-- so a refresh need not update any index.
create table refresh_token_family (
  id text not null primary key,
  grant_id text not null references oauth_grant (id) on delete cascade,
  seed text not null,
  token text not null,
  generation integer not null,
  steps text not null,
  started_at bigint not null,
  kept_until bigint not null,
  ended_at bigint
);
create index refresh_token_family_by_grant on refresh_token_family (grant_id);
create index refresh_token_family_by_end on refresh_token_family (kept_until);

-- Sessions at applications with back-channel logout. Each code exchange with the scope openid adds a row, which is
-- deleted when the session ends or its tokens have expired. "sid" is the session id in the id_token.
create table relying_party_session (
  family_id text not null primary key,
  grant_id text not null references oauth_grant (id) on delete cascade,
  client_id text not null,
  person_id text not null,
  sid text,
  browser_session_id text,
  started_at bigint not null,
  expires_at bigint not null
);
create index relying_party_session_by_grant on relying_party_session (grant_id);
create index relying_party_session_by_person on relying_party_session (person_id, client_id);
create index relying_party_session_by_expiry on relying_party_session (expires_at);

-- Sessions, interactions, codes, self-registered clients and other records that expire, if there is no Redis.
create table oauth_state (
  model text not null,
  id text not null,
  uid text,
  payload text not null,
  consumed_at bigint,
  expires_at bigint not null,
  primary key (model, id)
);
create index oauth_state_by_uid on oauth_state (uid) where uid is not null;
create index oauth_state_by_expiry on oauth_state (expires_at);

-- The Redis servers used so far, by run id, with the time of first use. A server may lack data that was written before
-- that time. The very first server has the time 0. Rows are never deleted.
create table redis_server (
  run_id text not null primary key,
  seen_at bigint not null
);

-- Signing keys for id_tokens and for platform API requests. Each table has at most one current and one next key, plus
-- retired ones. The tables are separate, so the keys cannot be mixed up.

create table signing_key (
  kid text not null primary key,
  state text not null check (state in ('next', 'current', 'retired')),
  sealed_private text not null,
  created_at bigint not null,
  retired_at bigint
);
create unique index signing_key_one_next on signing_key (state) where state = 'next';
create unique index signing_key_one_current on signing_key (state) where state = 'current';

create table upstream_key (
  kid text not null primary key,
  state text not null check (state in ('next', 'current', 'retired')),
  sealed_private text not null,
  created_at bigint not null,
  retired_at bigint
);
create unique index upstream_key_one_next on upstream_key (state) where state = 'next';
create unique index upstream_key_one_current on upstream_key (state) where state = 'current';

-- The service itself.

create table setting (
  name text not null primary key,
  value text not null,
  updated_at bigint not null
);

-- Counts of request limits that all processes share, with PostgreSQL and without Redis (platform/store/shared-counts.ts).
create table request_count (
  key text not null primary key,
  points bigint not null,
  ends_at bigint not null
);
create index request_count_ends_at on request_count (ends_at);

-- The audit trail. It has no foreign keys, because events outlive the rows that they mention. person_id is the affected
-- person, times is the number of equal events within a minute (null for one), and streamed_at is when the event was
-- streamed. Webhooks receive the events with an event_type (platform/audit/event-types.ts).
create table audit_event (
  id text not null primary key,
  occurred_at bigint not null,
  actor_person_id text,
  person_id text,
  client_id text,
  action text not null,
  event_type text,
  subject_kind text not null,
  subject_id text not null,
  site_id text,
  before text,
  after text,
  reason text,
  times integer,
  address text,
  request_id text,
  streamed_at bigint
);
create index audit_event_by_time on audit_event (occurred_at, id);
create index audit_event_by_site on audit_event (site_id, occurred_at);
-- Counts the invitations of the last 24 hours.
create index audit_event_of_invitations on audit_event (site_id, occurred_at) where action = 'member.invite';
create index audit_event_by_client on audit_event (client_id, occurred_at);
create index audit_event_by_person on audit_event (person_id, occurred_at);
create index audit_event_by_actor on audit_event (actor_person_id, occurred_at);
create index audit_event_to_stream on audit_event (occurred_at, id) where streamed_at is null;
create index audit_event_of_webhooks on audit_event (site_id, occurred_at) where event_type is not null;

-- Receivers of a site's events. Both secrets are encrypted; the previous one also signs until "previous_until". A
-- disabled endpoint receives nothing; "undelivered_since" is when the first event that it missed was queued.
create table webhook_endpoint (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  url text not null,
  payload text not null check (payload in ('full', 'thin')),
  sealed_secret text not null,
  sealed_previous text,
  previous_until bigint,
  created_at bigint not null,
  disabled_at bigint,
  disabled_reason text,
  undelivered_since bigint
);
create index webhook_endpoint_by_site on webhook_endpoint (site_id);

create table webhook_endpoint_type (
  endpoint_id text not null references webhook_endpoint (id) on delete cascade,
  type text not null,
  primary key (endpoint_id, type)
);

-- The log of attempts. "error" is null if the receiver accepted the event. The request is not stored: it is created from
-- the audit event. "response" is what the receiver answered, which may contain personal data.
create table webhook_delivery (
  id text not null primary key,
  endpoint_id text not null references webhook_endpoint (id) on delete cascade,
  event_id text not null,
  type text not null,
  attempted_at bigint not null,
  duration_ms integer not null,
  status integer,
  error text,
  response text
);
create index webhook_delivery_by_endpoint on webhook_delivery (endpoint_id, attempted_at);
create index webhook_delivery_by_event on webhook_delivery (event_id, endpoint_id);
create index webhook_delivery_by_time on webhook_delivery (attempted_at);
