package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Request is what a run of the program asks of the daemon, in the first line of a connection. A
// connection that begins with anything else is that of an editor, in the control protocol.
type Request struct {
	Want   Want   `json:"want"`
	Server string `json:"server,omitempty"` // for Join and Era; "" is all servers as one
	Folder string `json:"folder,omitempty"` // the working folder of the program
	Named  bool   `json:"named,omitempty"`  // its configuration file was named, so that no project counts
	Print  string `json:"print,omitempty"`  // the fingerprint of the server there
	InTurn bool   `json:"inTurn,omitempty"` // it may use what an earlier run has left
	Opens  bool   `json:"opens,omitempty"`  // sign-in pages may be opened in the browser because of it
}

// Want is what is asked for.
type Want string

// What is asked for. All daemons understand Status and Stop, whatever their version.
const (
	Stay    Want = "stay"    // that the daemon stays for a while
	Status  Want = "status"  // what the daemon says of itself
	Stop    Want = "stop"    // that it ends; the connection ends when it has
	Era     Want = "era"     // the era of a server
	Join    Want = "join"    // a server: the connection carries MCP behind the answer
	Control Want = "control" // the control protocol, behind the answer
)

// Answer is what a daemon answers, in a line.
type Answer struct {
	Refused string `json:"refused,omitempty"` // why it does not do what was asked
	Era     string `json:"era,omitempty"`     // of the server; "" is not known yet
	Stopped bool   `json:"stopped,omitempty"` // with Era: an editor has stopped its own server of that name
	Status  *State `json:"status,omitempty"`
}

// State is what a daemon says of itself.
type State struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Config  string    `json:"config,omitempty"` // its configuration file; absent if there is none
	Socket  string    `json:"socket"`
	Log     string    `json:"log,omitempty"` // absent if it logs to its own stderr
	Since   time.Time `json:"since"`         // when it was started
	Editors int       `json:"editors"`       // that speak the control protocol
	Clients int       `json:"clients"`       // all others
}

// RefusedError is the error of a request that the daemon does not grant.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "the daemon refuses: " + e.Why }

// greeting begins the first line of a program of this package. No message of JSON-RPC, in either
// framing, begins so.
const greeting = "wharf-daemon "

// maxLine bounds a request and an answer.
const maxLine = 64 << 10

// exchange sends a request, and reads the answer.
func exchange(conn io.ReadWriter, r *Request) (*Answer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append([]byte(greeting), append(text, '\n')...)); err != nil {
		return nil, err
	}
	line, err := readLine(conn)
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, fmt.Errorf("the answer of the daemon: %w", err)
	}
	if a.Refused != "" {
		return nil, &RefusedError{a.Refused}
	}
	return &a, nil
}

// readLine reads a line, and not a byte more: what follows belongs to another reader.
func readLine(from io.Reader) ([]byte, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(from, one); err != nil {
			return nil, err
		}
		if one[0] == '\n' {
			return line, nil
		}
		if line = append(line, one[0]); len(line) > maxLine {
			return nil, errors.New("a line of more than 64 KiB")
		}
	}
}

// readRequest reads the request of a program.
func readRequest(from io.Reader) (*Request, error) {
	line, err := readLine(from)
	if err != nil {
		return nil, err
	}
	text, found := bytes.CutPrefix(line, []byte(greeting))
	if !found {
		return nil, errors.New("expected a request of wharf")
	}
	var r Request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

// Reply answers a request.
func Reply(to io.Writer, a Answer) error {
	text, err := json.Marshal(a)
	if err == nil {
		_, err = to.Write(append(text, '\n'))
	}
	return err
}
