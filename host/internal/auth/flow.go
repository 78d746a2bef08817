package auth

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/vault"
)

// The longest times of a flow.
const (
	machineTime = 30 * time.Second // of a flow that asks no person, and of the rest after the person has answered
	personTime  = 10 * time.Minute // until a person has answered everything
	endTime     = 20 * time.Second // for an answer that has been requested when the time is over
)

// maxFlowBytes is how many bytes may go to and from a provider in one flow.
const maxFlowBytes = 64 << 20

// flow is one sign-in: the loop of steps, and the state that it keeps for the provider between
// them. It belongs to the goroutine that runs it.
type flow struct {
	config   *Config
	provider Provider
	wants    step.Wants
	start    *step.Start
	trial    *trialVault // notes that the person typed a secret; may be nil
	refused  bool        // the server refuses the saved result of the last sign-in
	said     string      // what the server wrote when it refused a request
	nonces   *nonces

	// person ends when no login waits for the flow any more, or when the person has not answered in
	// time. The flow then goes on without the person. It is nil if the flow may not ask a person.
	person  context.Context
	showing sync.WaitGroup // of codes, see show

	time     context.Context // nothing new begins after its end
	locks    map[vault.Key]func()
	seen     map[vault.Key]uint64 // generations of records loaded and stored; 0 if there was none
	keys     map[string]*key
	callback Callback
	page     string // the page that the person was last shown
	bytes    int
	found    bool // a record was loaded
	asked    bool // an action was taken whose result is certainly in no record
	result   result
}

// result is the outcome of a flow.
type result struct {
	credentials *credentials // nil if requests need none
	material    *Material
	state       json.RawMessage // for request events
	saved       bool            // it came from the vault without a question to the person, or what the person typed is stored there
}
