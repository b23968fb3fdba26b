-- What an operator changes through the Admin API. An archived row is out of sight for visitors and
-- stays for those who bought it.

alter table course add column archived_at bigint;
alter table digital_product add column archived_at bigint;
alter table event add column archived_at bigint;

-- Lectures keep their place in the whole course; a section holds some that follow one another.
create table section (
  id text not null primary key,
  course_id text not null references course (id) on delete cascade,
  position integer not null,
  title text not null,
  created_at bigint not null,
  unique (course_id, position)
);

alter table lecture add column section_id text references section (id) on delete set null;
create index lecture_by_section on lecture (section_id);

alter table site add column description text;
alter table site add column contact_email text;
alter table site add column address text;
alter table site add column time_zone text;
alter table site add column language text;

-- Files of a site. Their bytes are where STORAGE says.
create table stored_file (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  name text not null,
  media_type text not null,
  size_bytes bigint not null,
  sha256 text not null,
  created_by text references person (id) on delete set null,
  created_at bigint not null
);

create index stored_file_by_site on stored_file (site_id, created_at, id);
create index stored_file_by_creator on stored_file (created_by);

alter table digital_product add column file_id text references stored_file (id) on delete set null;
create index digital_product_by_file on digital_product (file_id);

-- How a site looks on the pages of sign-in, consent and account. Null is the service's own.
create table site_appearance (
  site_id text not null primary key references site (id) on delete cascade,
  display_name text,
  logo_file_id text references stored_file (id) on delete set null,
  accent_color text,
  background_color text,
  sign_in_words text,
  consent_words text,
  updated_at bigint not null
);

create index site_appearance_by_logo on site_appearance (logo_file_id);

-- Announcements. A published one is delivered to inboxes in steps; delivered_to is the last person of
-- the step before, and delivered_at says that everybody has it.
create table post (
  id text not null primary key,
  site_id text not null references site (id) on delete cascade,
  topic text not null,
  title text not null,
  body text not null,
  link text,
  created_by text references person (id) on delete set null,
  created_at bigint not null,
  updated_at bigint not null,
  published_at bigint,
  delivered_to text,
  delivered_at bigint
);

create index post_by_site on post (site_id, created_at, id);
create index post_by_creator on post (created_by);
create index post_undelivered on post (published_at) where delivered_at is null;

alter table notification add column post_id text references post (id) on delete cascade;
create unique index notification_of_post on notification (post_id, person_id)
  where post_id is not null;

-- Who is enrolled, who operates, who learns: newest first, however many there are.
create index site_role_by_time on site_role (site_id, role, granted_at, person_id);
create index course_purchase_by_time on course_purchase (course_id, purchased_at, id);
drop index course_purchase_by_course;
create index customer_order_by_time on customer_order (site_id, placed_at, id);

-- What a client made under a key of its own, so that a repetition makes nothing new.
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
