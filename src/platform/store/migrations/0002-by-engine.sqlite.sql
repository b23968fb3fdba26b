-- SQL that is specific to SQLite. The .postgres.sql file of the same name has the counterpart.

-- The words of each person's name and e-mail address in lower case, written by triggers (platform/store/search.ts). Each
-- row also has all words of the person, so a search for several words reads only one range of the index.
create table person_word (
  word text not null,
  person_id text not null references person (id) on update cascade on delete cascade,
  words text not null,
  primary key (word, person_id)
) without rowid;
create index person_word_by_person on person_word (person_id, word);

-- SQLite has no function that splits a text. So each separator, the comma first, is replaced with the end of a JSON
-- string. The triggers insert into this view, to share the statement.
create view named_person as select id, name, email_canonical from person;
create trigger write_person_words instead of insert on named_person begin
  delete from person_word where person_id = new.id;
  insert into person_word (word, person_id, words)
    select value, new.id,
      ' ' || group_concat(value, ' ') over (order by value rows between unbounded preceding and unbounded following) || ' '
    from (select distinct value from json_each('[' ||
      replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(json_quote(lower(new.name || ' ' || new.email_canonical)), ',', '","'), '-', '","'), '.', '","'), '@', '","'), '_', '","'), '+', '","'), '(', '","'), ')', '","'), '''', '","'), ' ', '","')
      || ']')
    where value <> '' and not exists (select 1 from person where id = new.id and deleted_at is not null));
end;
create trigger person_insert_words after insert on person
  begin insert into named_person values (new.id, new.name, new.email_canonical); end;
create trigger person_update_words after update of name, email_canonical on person
  begin insert into named_person values (new.id, new.name, new.email_canonical); end;

-- The versions of clients. The .postgres.sql file explains them.
create table client_version (
  client_id text not null primary key,
  version bigint not null default (cast(unixepoch('subsec') * 1000 as integer))
);

-- The triggers insert into this view, because SQLite has no stored functions to share the update.
create view changed_client as select client_id from client_version;
create trigger count_client_version instead of insert on changed_client begin
  insert into client_version (client_id) values (new.client_id) on conflict do update set version = version + 1;
end;

create trigger oauth_application_insert_counts after insert on oauth_application
  begin insert into changed_client values (new.client_id); end;
create trigger oauth_application_update_counts after update on oauth_application
  begin insert into changed_client select old.client_id union select new.client_id; end;
create trigger oauth_application_delete_counts after delete on oauth_application
  begin insert into changed_client values (old.client_id); end;
create trigger client_secret_insert_counts after insert on client_secret
  begin insert into changed_client values (new.client_id); end;
create trigger client_secret_update_counts after update on client_secret
  begin insert into changed_client select old.client_id union select new.client_id; end;
create trigger client_secret_delete_counts after delete on client_secret
  begin insert into changed_client values (old.client_id); end;
create trigger integration_override_insert_counts after insert on integration_override
  begin insert into changed_client values (new.client_id); end;
create trigger integration_override_update_counts after update on integration_override
  begin insert into changed_client select old.client_id union select new.client_id; end;
create trigger integration_override_delete_counts after delete on integration_override
  begin insert into changed_client values (old.client_id); end;
create trigger document_site_review_insert_counts after insert on document_site_review
  begin insert into changed_client values (new.client_id); end;
create trigger document_site_review_update_counts after update on document_site_review
  begin insert into changed_client select old.client_id union select new.client_id; end;
create trigger document_site_review_delete_counts after delete on document_site_review
  begin insert into changed_client values (old.client_id); end;
create trigger document_client_insert_counts after insert on document_client
  begin insert into changed_client values (new.client_id); end;
create trigger document_client_update_counts after update on document_client
  begin insert into changed_client select old.client_id union select new.client_id; end;
create trigger document_client_delete_counts after delete on document_client
  begin delete from client_version where client_id = old.client_id; end;

-- Messages to other servers. The .postgres.sql file explains them.
create table outbox (
  position integer not null primary key autoincrement,
  id text not null unique,
  kind text not null,
  queue text not null,
  subject text,
  payload text not null,
  created_at bigint not null,
  due_at bigint not null,
  attempts integer not null,
  last_error text
);
create index outbox_by_time on outbox (due_at);
create index outbox_by_subject on outbox (queue, subject, position);
