package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
)

// clientMetadata is the address of the client id metadata document that the suite knows.
const clientMetadata = "https://conformance-test.local/client-metadata.json"

// grants are the scenarios in which the client signs in as a machine.
var grants = map[string]string{
	"auth/client-credentials-jwt":           "client_credentials",
	"auth/client-credentials-basic":         "client_credentials",
	"auth/enterprise-managed-authorization": "enterprise",
	"auth/wif-jwt-bearer":                   "jwt_bearer",
}

// auth returns the auth table that a user would write for the account of the
// suite.
func (j job) auth() config.Auth {
	settings := map[string]any{"client_metadata_url": clientMetadata}
	for key, value := range map[string]string{
		"client_id":          j.account.ClientID,
		"client_secret":      j.account.ClientSecret,
		"private_key":        j.account.PrivateKey,
		"key_alg":            j.account.KeyAlg,
		"jwt":                j.account.WorkloadJWT,
		"idp_client_id":      j.account.IDPClientID,
		"id_token":           j.account.IDPIDToken,
		"idp_token_endpoint": j.account.IDPTokenEndpoint,
		"grant":              grants[j.scenario],
	} {
		if value != "" {
			settings[key] = value
		}
	}
	return config.Auth{Provider: "oauth", Settings: settings}
}

// visit acts as the browser of a person who agrees to everything. The suite's authorization
// servers redirect it to the callback at once.
func visit(ctx context.Context, p signin.Page) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, text)
	}
	return err
}
