-- A decision of a site counts the version of the client up, as every other change of one does (0006).
create trigger document_site_review_counts after insert or update or delete on document_site_review
  for each row execute function count_client_version();
