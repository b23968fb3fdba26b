-- What an application may choose where a deployment turns it on (config/service.json, furtherPlans): to
-- authenticate with a key of its own, to be told of sign-outs, to have its requests pushed and its tokens
-- bound to a key.

-- A check cannot be changed in SQLite, so that the column is made again with one more method.
alter table oauth_application add column authentication text not null default 'none'
  check (authentication in ('none', 'client_secret_post', 'private_key_jwt'));
update oauth_application set authentication = auth_method;
alter table oauth_application drop column auth_method;
alter table oauth_application rename column authentication to auth_method;

-- The public keys of the client as JSON, or the address at which they are.
alter table oauth_application add column jwks text;
alter table oauth_application add column jwks_uri text;
-- Since when nothing less is accepted of it.
alter table oauth_application add column pushed_requests_required_at bigint;
alter table oauth_application add column bound_tokens_required_at bigint;
-- Where the client hears of sign-outs, and since when each notice must name the session.
alter table oauth_application add column backchannel_logout_uri text;
alter table oauth_application add column backchannel_logout_session_required_at bigint;
