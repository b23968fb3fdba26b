-- A refresh updates the row of its family and no index. With room on its page the new version stays
-- there, and no index is written (a heap-only tuple): of all refreshes, in place of nine in ten.
alter table refresh_token_family set (fillfactor = 80);
