-- People by the beginning of name or address (store/search.ts): byte by byte, because the order of a
-- language does not keep beginnings together.
create index person_by_folded_name on person (lower(name) collate "C", id);
create index person_by_folded_address on person (email_canonical collate "C", id);
