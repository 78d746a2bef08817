package term

import (
	"os"
	"sync"

	"golang.org/x/term"
)

// Mode controls how a terminal delivers keys. While a line is edited, each key comes as it is
// pressed. It is safe for concurrent use, so that the terminal can be restored before the
// program ends on the spot.
type Mode struct {
	Terminal *os.File

	mu    sync.Mutex
	saved *term.State // nil: the terminal is as it was found
}

// Enter makes the terminal deliver each key when it is pressed, until Leave.
func (m *Mode) Enter() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saved == nil {
		m.saved, err = term.MakeRaw(int(m.Terminal.Fd()))
	}
	return err
}

// Leave puts the terminal back. It may be called on nil, and at any time.
func (m *Mode) Leave() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.saved != nil {
		term.Restore(int(m.Terminal.Fd()), m.saved) // an error says that the terminal is gone
		m.saved = nil
	}
}
