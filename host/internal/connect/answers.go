package connect

import (
	"sync"

	"github.com/wharf-mcp/wharf/host/config"
)

// Answers holds what a person has answered to the inputs of entries until a server has started with it. An answer is
// held for as long as a start, or a call that waits for one, uses its input; then it is forgotten. All methods are
// safe for concurrent use.
type Answers struct {
	mu   sync.Mutex
	held map[string]*answer // by the secret of the input
}

type answer struct {
	text  string
	given bool
	users int
}

// Hold keeps the answers to some inputs, also those that are yet to be given, until letGo is called.
func (a *Answers) Hold(inputs ...config.Input) (letGo func()) {
	if len(inputs) == 0 {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		a.held = make(map[string]*answer)
	}
	for _, in := range inputs {
		if a.held[in.Secret] == nil {
			a.held[in.Secret] = &answer{}
		}
		a.held[in.Secret].users++
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, in := range inputs {
			if a.held[in.Secret].users--; a.held[in.Secret].users == 0 {
				delete(a.held, in.Secret)
			}
		}
	}
}

// Set gives the answer to an input that the caller holds.
func (a *Answers) Set(in config.Input, text string) { a.change(in, text, true) }

// Drop takes the answer to an input back that the caller holds.
func (a *Answers) Drop(in config.Input) { a.change(in, "", false) }

func (a *Answers) change(in config.Input, text string, given bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.held[in.Secret]
	held.text, held.given = text, given
}

// Get returns the answer that is held under the name of a secret.
func (a *Answers) Get(secret string) (text string, given bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.held[secret]; held != nil {
		return held.text, held.given
	}
	return "", false
}
