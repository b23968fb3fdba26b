-- For which assistant of config/assistants.json an application was made. One site has one for each, so that
-- consent, Connected apps and the audit trail name the assistant, and pressing twice makes no second one.
-- A process of the version before leaves the column empty, as it is for every other application.

alter table oauth_application add column assistant text;

create unique index oauth_application_one_per_assistant on oauth_application (site_id, assistant)
  where assistant is not null and deleted_at is null;
