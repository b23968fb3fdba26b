// An API in Go, with only the standard library, that accepts this service's access tokens.
//
//	ISSUER=https://id.example CLIENT_ID=rs_… CLIENT_SECRET=… go run main.go
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Introspection is the response of the introspection endpoint (RFC 7662).
type Introspection struct {
	Active    bool     `json:"active"`
	Subject   string   `json:"sub"`
	Audience  string   `json:"aud"`
	TokenType string   `json:"token_type"`
	Scope     string   `json:"scope"`
	Site      string   `json:"org_id"`
	Roles     []string `json:"roles"`
}

var (
	issuer = strings.TrimRight(os.Getenv("ISSUER"), "/")
	client = &http.Client{Timeout: 2 * time.Second}
)

func introspect(r *http.Request, token string) (*Introspection, error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	ask, err := http.NewRequestWithContext(r.Context(), http.MethodPost, issuer+"/api/oauth/introspect", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ask.SetBasicAuth(url.QueryEscape(os.Getenv("CLIENT_ID")), url.QueryEscape(os.Getenv("CLIENT_SECRET")))
	answer, err := client.Do(ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the service responded with %s", answer.Status)
	}
	introspection := &Introspection{}
	return introspection, json.NewDecoder(answer.Body).Decode(introspection)
}

func refuse(w http.ResponseWriter, status int, code, scope string) {
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error=%q, scope=%q, resource_metadata=%q`,
		code, scope, issuer+"/.well-known/oauth-protected-resource"))
	http.Error(w, code, status)
}

func needs(scope string, next func(http.ResponseWriter, *http.Request, *Introspection)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
			refuse(w, http.StatusUnauthorized, "invalid_token", scope)
			return
		}
		introspection, err := introspect(r, token)
		if err != nil {
			// The token could not be checked, so send no challenge.
			log.Print("introspection failed: ", err)
			w.Header().Set("Retry-After", "1")
			http.Error(w, "temporarily_unavailable", http.StatusServiceUnavailable)
			return
		}
		// A refresh token can be active too, but has no token_type.
		if !introspection.Active || introspection.TokenType != "Bearer" || introspection.Audience != issuer {
			refuse(w, http.StatusUnauthorized, "invalid_token", scope)
			return
		}
		if !slices.Contains(strings.Fields(introspection.Scope), scope) {
			refuse(w, http.StatusForbidden, "insufficient_scope", scope)
			return
		}
		next(w, r, introspection)
	}
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	http.HandleFunc("GET /orders", needs("account:read", func(w http.ResponseWriter, _ *http.Request, introspection *Introspection) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"hello": introspection.Subject, "site": introspection.Site, "roles": introspection.Roles})
	}))
	log.Print("listening on ", port)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
