// Calls tools with the official Go SDK: ADDRESS CALLS SCOPES [CLIENT_ID].
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"example.com/agents/shared"
)

func main() {
	ctx := context.Background()
	redirect, arrived := shared.Listen()
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			shared.OpenBrowser(args.URL)
			got := <-arrived
			return &auth.AuthorizationResult{Code: got.Get("code"), State: got.Get("state"), Iss: got.Get("iss")}, nil
		},
	}
	if len(os.Args) > 4 {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: os.Args[4]}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "an application in Go", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
			},
		}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	shared.Must(err)
	client := mcp.NewClient(&mcp.Implementation{Name: "an application in Go", Version: "1.0.0"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: os.Args[1], OAuthHandler: handler}
	session, err := client.Connect(ctx, transport, nil)
	shared.Must(err)
	defer session.Close()
	_, err = session.ListTools(ctx, nil)
	shared.Must(err)
	shared.Use(os.Args[2], func(tool string, values map[string]any) string {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: values})
		shared.Must(err)
		text, err := json.Marshal(result)
		shared.Must(err)
		return string(text)
	})
}
