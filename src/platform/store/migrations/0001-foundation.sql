-- The common subset of SQLite and PostgreSQL 15: TEXT identifiers, BIGINT epoch milliseconds named
-- *_at, nullable timestamps instead of booleans, rows instead of arrays. A child row that has no
-- meaning without its parent goes with it. Statements end with a semicolon at the end of a line.

-- Who signs in.

create table person (
  id text not null primary key,
  email text not null,
  email_canonical text not null unique,
  name text not null,
  picture text,
  password_hash text,
  disabled_at bigint,
  created_at bigint not null
);

-- Where people hold a role.

create table site (
  id text not null primary key,
  slug text not null unique,
  name text not null,
  created_at bigint not null
);

create table site_role (
  person_id text not null references person (id) on delete cascade,
  site_id text not null references site (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'lecturer', 'student')),
  granted_at bigint not null,
  primary key (person_id, site_id, role)
);

create index site_role_by_site on site_role (site_id, person_id);

-- A row means that the beta feature is on.
create table site_feature (
  site_id text not null references site (id) on delete cascade,
  feature text not null,
  enabled_at bigint not null,
  primary key (site_id, feature)
);

-- What a site offers.

create table course (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  slug text not null,
  title text not null,
  summary text not null,
  published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);

create table lecture (
  id text not null primary key,
  course_id text not null references course (id) on delete cascade,
  position integer not null,
  title text not null,
  duration_seconds integer not null,
  unique (course_id, position)
);

create table course_lecturer (
  course_id text not null references course (id) on delete cascade,
  person_id text not null references person (id) on delete cascade,
  primary key (course_id, person_id)
);

create index course_lecturer_by_person on course_lecturer (person_id);

create table watch_position (
  person_id text not null references person (id) on delete cascade,
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
  published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);

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
  starts_at bigint not null,
  ends_at bigint not null,
  published_at bigint,
  created_at bigint not null,
  unique (site_id, slug)
);

-- What people bought. A purchase outlives the record of its order.

create table customer_order (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  person_id text not null references person (id) on delete cascade,
  number text not null,
  coupon_code text,
  invoice_number text,
  refunded_at bigint,
  total_cents integer not null,
  currency text not null,
  placed_at bigint not null,
  unique (site_id, number)
);

create index customer_order_by_person on customer_order (person_id);

-- No expiry means lifetime access.
create table course_purchase (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  course_id text not null references course (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  purchased_at bigint not null,
  expires_at bigint,
  unique (person_id, course_id)
);

create index course_purchase_by_course on course_purchase (course_id);
create index course_purchase_by_order on course_purchase (order_id);

create table digital_product_purchase (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  digital_product_id text not null references digital_product (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  purchased_at bigint not null,
  unique (person_id, digital_product_id)
);

create index digital_product_purchase_by_product on digital_product_purchase (digital_product_id);
create index digital_product_purchase_by_order on digital_product_purchase (order_id);

-- The same service can be bought again, so there is nothing unique here.
create table consulting_service_purchase (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  consulting_service_id text not null references consulting_service (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  purchased_at bigint not null,
  scheduled_at bigint
);

create index consulting_service_purchase_by_person on consulting_service_purchase (person_id);
create index consulting_service_purchase_by_service
  on consulting_service_purchase (consulting_service_id);
create index consulting_service_purchase_by_order on consulting_service_purchase (order_id);

create table event_registration (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  event_id text not null references event (id) on delete cascade,
  order_id text references customer_order (id) on delete set null,
  registered_at bigint not null,
  cancelled_at bigint,
  unique (person_id, event_id)
);

create index event_registration_by_event on event_registration (event_id);
create index event_registration_by_order on event_registration (order_id);

-- The inbox.

create table notification (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  site_id text not null references site (id) on delete cascade,
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

create table notification_subscription (
  id text not null primary key,
  person_id text not null references person (id) on delete cascade,
  site_id text not null references site (id) on delete cascade,
  topic text not null,
  channel text not null check (channel in ('inbox', 'email')),
  enabled_at bigint,
  unique (person_id, site_id, topic, channel)
);

create index notification_subscription_by_site on notification_subscription (site_id);

-- Who may ask for access.

create table oauth_application (
  client_id text not null primary key,
  kind text not null check (kind in ('site', 'resource_server')),
  site_id text references site (id) on delete cascade,
  name text not null,
  auth_method text not null check (auth_method in ('none', 'client_secret_post')),
  application_type text not null check (application_type in ('web', 'native')),
  created_by text references person (id) on delete set null,
  created_at bigint not null,
  disabled_at bigint,
  deleted_at bigint
);

create index oauth_application_by_site on oauth_application (site_id);
create index oauth_application_by_creator on oauth_application (created_by);

create table oauth_application_redirect_uri (
  client_id text not null references oauth_application (client_id) on delete cascade,
  uri text not null,
  position integer not null,
  primary key (client_id, uri)
);

create table oauth_application_post_logout_uri (
  client_id text not null references oauth_application (client_id) on delete cascade,
  uri text not null,
  primary key (client_id, uri)
);

create table oauth_application_scope (
  client_id text not null references oauth_application (client_id) on delete cascade,
  scope text not null,
  primary key (client_id, scope)
);

-- No foreign key: the clients of integrations.json have secrets too, and no row of their own.
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
  note text,
  updated_at bigint not null
);

-- The keys that sign, one current and one that is announced.

create table signing_key (
  kid text not null primary key,
  state text not null check (state in ('next', 'current', 'retired')),
  public_jwk text not null,
  sealed_private text not null,
  created_at bigint not null,
  current_at bigint,
  retired_at bigint
);

create unique index signing_key_one_next on signing_key (state) where state = 'next';
create unique index signing_key_one_current on signing_key (state) where state = 'current';

-- What was changed. It has no foreign keys, because it outlives everything that it speaks of.

create table audit_event (
  id text not null primary key,
  occurred_at bigint not null,
  actor_person_id text,
  action text not null,
  subject_kind text not null,
  subject_id text not null,
  site_id text,
  before text,
  after text,
  request_id text
);

create index audit_event_by_time on audit_event (occurred_at, id);
create index audit_event_by_subject on audit_event (subject_kind, subject_id, occurred_at);
create index audit_event_by_site on audit_event (site_id, occurred_at);
create index audit_event_by_actor on audit_event (actor_person_id, occurred_at);

create table setting (
  name text not null primary key,
  value text not null,
  updated_at bigint not null
);

-- Sessions, interactions, grants, codes and tokens, when there is no Redis.

create table oauth_state (
  model text not null,
  id text not null,
  grant_id text,
  uid text,
  payload text not null,
  consumed_at bigint,
  successor_seed text,
  expires_at bigint not null,
  primary key (model, id)
);

create index oauth_state_by_grant on oauth_state (grant_id) where grant_id is not null;
create index oauth_state_by_uid on oauth_state (uid) where uid is not null;
create index oauth_state_by_expiry on oauth_state (expires_at);
