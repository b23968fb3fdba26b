-- People by the beginning of their name (store/search.ts): byte by byte, as this engine compares. For
-- addresses it has the index that keeps them unique.
create index person_by_folded_name on person (lower(name), id);
