-- What members are led to: the page and the picture of a course, and where an event is joined online.

alter table course add column url text;
alter table course add column image_url text;
alter table event add column join_url text;
