// Calls tools with mcp-go: ADDRESS CALLS SCOPES [CLIENT_ID]. It requests no scopes by itself.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"example.com/agents/shared"
)

func main() {
	ctx := context.Background()
	redirect, arrived := shared.Listen()
	config := client.OAuthConfig{
		RedirectURI: redirect, Scopes: strings.Fields(os.Args[3]), TokenStore: client.NewMemoryTokenStore(), PKCEEnabled: true,
	}
	if len(os.Args) > 4 {
		config.ClientID = os.Args[4]
	}
	c, err := client.NewOAuthStreamableHttpClient(os.Args[1], config)
	shared.Must(err)
	defer c.Close()
	connect := func() error {
		if err := c.Start(ctx); err != nil {
			return err
		}
		request := mcp.InitializeRequest{}
		request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
		request.Params.ClientInfo = mcp.Implementation{Name: "an application in Go", Version: "1.0.0"}
		_, err := c.Initialize(ctx, request)
		return err
	}
	err = connect()
	if client.IsOAuthAuthorizationRequiredError(err) {
		handler := client.GetOAuthHandler(err)
		if handler.GetClientID() == "" {
			shared.Must(handler.RegisterClient(ctx, "an application in Go"))
		}
		verifier, err := client.GenerateCodeVerifier()
		shared.Must(err)
		state, err := client.GenerateState()
		shared.Must(err)
		address, err := handler.GetAuthorizationURL(ctx, state, client.GenerateCodeChallenge(verifier))
		shared.Must(err)
		shared.OpenBrowser(address)
		got := <-arrived
		shared.Must(handler.ProcessAuthorizationResponse(ctx, got.Get("code"), got.Get("state"), verifier))
		shared.Must(connect())
	} else {
		shared.Must(err)
	}
	_, err = c.ListTools(ctx, mcp.ListToolsRequest{})
	shared.Must(err)
	shared.Use(os.Args[2], func(tool string, values map[string]any) string {
		request := mcp.CallToolRequest{}
		request.Params.Name = tool
		request.Params.Arguments = values
		result, err := c.CallTool(ctx, request)
		shared.Must(err)
		text, err := json.Marshal(result)
		shared.Must(err)
		return string(text)
	})
}
