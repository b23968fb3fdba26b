-- Standard claims of a person, where the platform has told them; what is not known is null, and is not claimed.
alter table person add column email_verified_at bigint;
alter table person add column preferred_username text;
alter table person add column locale text;
alter table person add column time_zone text;
alter table person add column updated_at bigint;
