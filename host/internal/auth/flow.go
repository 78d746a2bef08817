package auth

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/vault"
)

// How long a flow takes at most.
const (
	machineTime = 30 * time.Second // of a flow that does not ask a person, and of the rest after the person answered
	personTime  = 10 * time.Minute // until a person has answered everything
	endTime     = 20 * time.Second // for an answer that is on its way when the time is over
)

// maxFlowBytes is how much may go in and out of a provider in one flow.
const maxFlowBytes = 64 << 20

// flow is one sign-in: the loop of steps, and what is held for the provider
// between them. It belongs to the goroutine that runs it.
type flow struct {
	config   *Config
	provider Provider
	wants    step.Wants
	start    *step.Start
	trial    *trialVault // is told when the person types a secret; may be nil
	refused  bool        // the server refuses what was saved of the last sign-in
	nonces   *nonces

	// person ends when no login waits for the flow any more, or when the person has not
	// answered for too long. The flow then goes on without the person. It is nil if the
	// flow may not ask a person.
	person context.Context

	time     context.Context // begins nothing new after its end
	locks    map[vault.Key]func()
	seen     map[vault.Key]uint64 // generations of records loaded and stored; 0 if there was none
	keys     map[string]*key
	callback Callback
	page     string // that the person was to see last
	bytes    int
	found    bool // a record was loaded
	asked    bool // an action was taken that can bring what is in no record
	result   result
}

// result is what a flow ends with.
type result struct {
	credentials *credentials // nil if requests need none
	material    *Material
	state       json.RawMessage // for request events
	saved       bool            // it came from the vault, and the person was not asked; or what they typed is stored there
}
