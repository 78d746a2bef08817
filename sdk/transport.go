package sdk

import "github.com/wharf-mcp/wharf/abi"

// Transport is the interface that a plugin author implements. One value serves one connection;
// its methods are called one at a time.
//
// An error returned from any of them ends the connection. The user reads its text, so
// it should say what was expected and what to do. [Fail] makes an error with a
// status.
type Transport interface {
	// Open starts a connection: it reads the settings, opens what the
	// connection needs and returns. s may be kept.
	Open(c *Conn, s *abi.Settings) error

	// Message sends one JSON-RPC message to the server. No message comes
	// before [Conn.Up].
	Message(m Message) (Outcome, error)

	// Handle takes every other event. It ignores kinds it has no use for.
	Handle(e Event) error
}

// Outcome is what became of an outgoing message.
type Outcome int32

const (
	// Later: [Conn.Done] or [Conn.Failed] follows for the exchange.
	Later = Outcome(abi.Later)

	// HandedOver: the message is with the server, and nothing will follow.
	HandedOver = Outcome(abi.HandedOver)
)

// Fault is an error with a status for the host.
type Fault struct {
	Status abi.Status
	Text   string
}

// Fail returns a [Fault].
func Fail(s abi.Status, text string) error { return &Fault{Status: s, Text: text} }

func (f *Fault) Error() string { return f.Text }
