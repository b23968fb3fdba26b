-- Whether a version that does not know a migration may run beside it: it may beside one that only adds
-- ('expand'), and not beside one that takes away ('contract'). Empty where nobody has said so.
alter table schema_migration add column effect text;
