package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// job says what the suite wants to see.
type job struct {
	url      string
	scenario string
	revision string     // of the protocol that the run is about
	calls    []toolCall // that the scenario dictates; most scenarios dictate none
	account  account
}

// account holds the credentials that the suite has registered for the client.
type account struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	PrivateKey   string `json:"private_key_pem"`
	KeyAlg       string `json:"signing_algorithm"`
	WorkloadJWT  string `json:"valid_jwt"`

	IDPClientID      string `json:"idp_client_id"`
	IDPIDToken       string `json:"idp_id_token"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
}

// toolCall is the params of tools/call. The arguments stay as the suite wrote
// them, so that no number or letter of theirs changes on the way.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// newJob reads the command line and the environment that the suite sets.
func newJob(args []string, getenv func(string) string) (job, error) {
	if len(args) != 1 {
		return job{}, errors.New("expected one argument, the URL of the server")
	}
	j := job{
		url:      args[0],
		scenario: getenv("MCP_CONFORMANCE_SCENARIO"),
		revision: getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"),
	}
	if j.scenario == "" {
		return job{}, errors.New("MCP_CONFORMANCE_SCENARIO names no scenario")
	}
	var told struct {
		ToolCalls []toolCall `json:"toolCalls"`
		account
	}
	if err := json.Unmarshal([]byte(cmp.Or(getenv("MCP_CONFORMANCE_CONTEXT"), "{}")), &told); err != nil {
		return job{}, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	j.calls, j.account = told.ToolCalls, told.account
	return j, nil
}

// protocol says how the host learns the era. For a run about a legacy revision it pins the legacy
// era, because the suite wants to see that one, even if its servers also answer to another. In
// all other runs the host finds out the era, as it does for users.
func (j job) protocol() string {
	if mcp.EraOf(j.revision) == mcp.Legacy {
		return "legacy"
	}
	return "auto"
}
