// A web application that signs people in with go-oidc and golang.org/x/oauth2.
package main

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var issuer = os.Getenv("ISSUER")

// The session of one browser; a real application stores it.
type session struct {
	state, nonce, verifier, idToken string
	token                           *oauth2.Token
}

var (
	mutex    sync.Mutex
	sessions = map[string]*session{}
)

func main() {
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		log.Fatal(err)
	}
	var endpoints struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := provider.Claims(&endpoints); err != nil {
		log.Fatal(err)
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	config := &oauth2.Config{
		ClientID: os.Getenv("CLIENT_ID"),
		// A public client has no secret.
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		RedirectURL:  os.Getenv("REDIRECT_URI"),
		Endpoint:     endpoint,
		Scopes:       []string{oidc.ScopeOpenID, "profile", "account:read"},
	}
	// The verifier accepts the signing algorithm that discovery advertises: ES256.
	verifier := provider.Verifier(&oidc.Config{ClientID: config.ClientID})
	resource := oauth2.SetAuthURLParam("resource", issuer)

	http.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		s := sessionOf(w, r)
		s.state, s.nonce, s.verifier = rand.Text(), rand.Text(), oauth2.GenerateVerifier()
		address := config.AuthCodeURL(s.state, oidc.Nonce(s.nonce), resource,
			oauth2.S256ChallengeOption(s.verifier))
		http.Redirect(w, r, address, http.StatusFound)
	})

	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		s := sessionOf(w, r)
		answer := r.URL.Query()
		if answer.Get("state") != s.state || answer.Get("iss") != issuer {
			http.Error(w, "the state or the issuer does not match", http.StatusBadRequest)
			return
		}
		token, err := config.Exchange(r.Context(), answer.Get("code"), resource,
			oauth2.VerifierOption(s.verifier))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		s.idToken, _ = token.Extra("id_token").(string)
		verified, err := verifier.Verify(r.Context(), s.idToken)
		if err != nil || verified.Nonce != s.nonce {
			http.Error(w, "the id_token is invalid", http.StatusBadGateway)
			return
		}
		s.token = token
		http.Redirect(w, r, "/", http.StatusFound)
	})

	http.HandleFunc("/refresh", func(w http.ResponseWriter, r *http.Request) {
		s := sessionOf(w, r)
		// Without an access token, the token source refreshes immediately. The request needs no
		// `resource`, because the refresh token is bound to that of the exchange.
		old := &oauth2.Token{RefreshToken: s.token.RefreshToken}
		token, err := config.TokenSource(r.Context(), old).Token()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		s.token = token
		http.Redirect(w, r, "/", http.StatusFound)
	})

	http.HandleFunc("/logout", func(w http.ResponseWriter, r *http.Request) {
		s := sessionOf(w, r)
		back := url.Values{
			"id_token_hint":            {s.idToken},
			"post_logout_redirect_uri": {os.Getenv("SIGNED_OUT_URI")},
		}
		*s = session{}
		http.Redirect(w, r, endpoints.EndSession+"?"+back.Encode(), http.StatusFound)
	})

	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s := sessionOf(w, r)
		if s.token == nil {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<a href="/login">Sign in</a>`)
			return
		}
		client := config.Client(r.Context(), s.token)
		answer, err := client.Post(issuer+"/member/graphql", "application/json",
			strings.NewReader(`{"query":"{ viewer { name } }"}`))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		io.Copy(w, answer.Body)
	})

	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func sessionOf(w http.ResponseWriter, r *http.Request) *session {
	mutex.Lock()
	defer mutex.Unlock()
	if cookie, err := r.Cookie("session"); err == nil && sessions[cookie.Value] != nil {
		return sessions[cookie.Value]
	}
	id := rand.Text()
	sessions[id] = &session{}
	http.SetCookie(w, &http.Cookie{Name: "session", Value: id, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	return sessions[id]
}
