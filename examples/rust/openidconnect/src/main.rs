//! A web application that signs people in with the openidconnect crate.
use std::collections::HashMap;
use std::env;
use std::error::Error;

use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreTokenResponse};
use openidconnect::url::Url;
use openidconnect::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndSessionUrl, IssuerUrl,
    LogoutRequest, Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier,
    PostLogoutRedirectUrl, ProviderMetadataWithLogout, RedirectUrl, Scope, TokenResponse, reqwest,
};
use tiny_http::{Header, Request, Response, Server};

/// The session of one browser; a real application stores it.
#[derive(Default)]
struct Session {
    pending: Option<(CsrfToken, Nonce, PkceCodeVerifier)>,
    tokens: Option<CoreTokenResponse>,
    id_token: Option<CoreIdToken>,
}

enum Answer {
    Redirect(String),
    Page(&'static str),
    Data(String),
}

fn main() -> Result<(), Box<dyn Error>> {
    let issuer = env::var("ISSUER")?;
    // Do not follow redirects: otherwise, a server could make this program request any URL.
    let http = reqwest::blocking::ClientBuilder::new()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    // Reads ES256 from discovery.
    let provider = ProviderMetadataWithLogout::discover(&IssuerUrl::new(issuer.clone())?, &http)?;
    let end_session: EndSessionUrl = provider
        .additional_metadata()
        .end_session_endpoint
        .clone()
        .ok_or("discovery contains no end_session_endpoint")?;
    // A public client has no secret.
    let secret = env::var("CLIENT_SECRET").ok().map(ClientSecret::new);
    let client =
        CoreClient::from_provider_metadata(provider, ClientId::new(env::var("CLIENT_ID")?), secret)
            .set_auth_type(AuthType::RequestBody)
            .set_redirect_uri(RedirectUrl::new(env::var("REDIRECT_URI")?)?);
    let signed_out = PostLogoutRedirectUrl::new(env::var("SIGNED_OUT_URI")?)?;

    let answer = |address: &Url, session: &mut Session| -> Result<Answer, Box<dyn Error>> {
        let query: HashMap<_, _> = address.query_pairs().into_owned().collect();
        let home = Answer::Redirect("/".to_owned());
        match address.path() {
            "/login" => {
                let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
                let (url, state, nonce) = client
                    .authorize_url(
                        CoreAuthenticationFlow::AuthorizationCode,
                        CsrfToken::new_random,
                        Nonce::new_random,
                    )
                    .add_scopes(["profile", "account:read"].map(|name| Scope::new(name.to_owned())))
                    .set_pkce_challenge(challenge)
                    .add_extra_param("resource", &issuer)
                    .url();
                session.pending = Some((state, nonce, verifier));
                Ok(Answer::Redirect(url.into()))
            }
            "/callback" => {
                let (state, nonce, verifier) =
                    session.pending.take().ok_or("no sign-in is in progress")?;
                if query.get("state") != Some(state.secret()) || query.get("iss") != Some(&issuer) {
                    return Err("the state or the issuer does not match".into());
                }
                let code = query.get("code").ok_or("the response has no code")?;
                let tokens = client
                    .exchange_code(AuthorizationCode::new(code.clone()))?
                    .set_pkce_verifier(verifier)
                    .add_extra_param("resource", &issuer)
                    .request(&http)?;
                let id_token = tokens.id_token().ok_or("the response has no id_token")?;
                id_token.claims(&client.id_token_verifier(), &nonce)?;
                session.id_token = Some(id_token.clone());
                session.tokens = Some(tokens);
                Ok(home)
            }
            "/refresh" => {
                let old = session
                    .tokens
                    .as_ref()
                    .and_then(|tokens| tokens.refresh_token())
                    .ok_or("not signed in")?;
                let refreshed = client
                    .exchange_refresh_token(old)?
                    .add_extra_param("resource", &issuer)
                    .request(&http)?;
                session.tokens = Some(refreshed);
                Ok(home)
            }
            "/logout" => {
                let mut request = LogoutRequest::from(end_session.clone())
                    .set_post_logout_redirect_uri(signed_out.clone());
                if let Some(id_token) = &session.id_token {
                    request = request.set_id_token_hint(id_token);
                }
                *session = Session::default();
                Ok(Answer::Redirect(request.http_get_url().into()))
            }
            _ => match &session.tokens {
                None => Ok(Answer::Page(r#"<a href="/login">Sign in</a>"#)),
                Some(tokens) => Ok(Answer::Data(
                    http.post(format!("{issuer}/member/graphql"))
                        .bearer_auth(tokens.access_token().secret())
                        .header("Content-Type", "application/json")
                        .body(r#"{"query":"{ viewer { name } }"}"#)
                        .send()?
                        .text()?,
                )),
            },
        }
    };

    let base = Url::parse(&env::var("APP_URL")?)?;
    let server = Server::http(format!("127.0.0.1:{}", env::var("PORT")?))
        .map_err(|error| error.to_string())?;
    let mut sessions: HashMap<String, Session> = HashMap::new();
    for request in server.incoming_requests() {
        let id = session_of(&request)
            .filter(|id| sessions.contains_key(id))
            .unwrap_or_else(|| CsrfToken::new_random().into_secret());
        let session = sessions.entry(id.clone()).or_default();
        let response = match answer(&base.join(request.url())?, session) {
            Ok(Answer::Redirect(address)) => Response::from_string("")
                .with_status_code(303)
                .with_header(header("Location", &address)),
            Ok(Answer::Page(html)) => {
                Response::from_string(html).with_header(header("Content-Type", "text/html"))
            }
            Ok(Answer::Data(json)) => Response::from_string(json),
            Err(error) => Response::from_string(error.to_string()).with_status_code(502),
        };
        let cookie = header(
            "Set-Cookie",
            &format!("session={id}; Path=/; HttpOnly; SameSite=Lax"),
        );
        request.respond(response.with_header(cookie))?;
    }
    Ok(())
}

fn session_of(request: &Request) -> Option<String> {
    let cookies = request
        .headers()
        .iter()
        .find(|header| header.field.equiv("Cookie"))?;
    let found = cookies
        .value
        .as_str()
        .split("; ")
        .find_map(|pair| pair.strip_prefix("session="));
    found.map(str::to_owned)
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("a header is visible ASCII")
}
