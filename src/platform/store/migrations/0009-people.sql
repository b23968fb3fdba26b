-- Members of a site by the age of their oldest role, whatever role that is.
create index site_role_by_age on site_role (site_id, granted_at, person_id);

-- The orders of one person at one site, newest first. It serves whoever asks for the person alone, too.
create index customer_order_by_person_and_time on customer_order (person_id, site_id, placed_at, id);
drop index customer_order_by_person;
