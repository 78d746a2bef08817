package httpclient

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// Refusal is the error of an exchange that nothing could sign in: the server
// answered with 401 or 403, or the credentials had nothing to sign it with and it
// was not sent. The guest only hears that it was denied.
type Refusal struct {
	HTTP       int      // 401 or 403; zero if nothing was sent
	Body       string   // what the server said, shortened, without control characters
	Challenges []string // its WWW-Authenticate fields, treated likewise
	AuthServer string   // its Mcp-Auth-Server field, treated likewise
	Signed     bool     // the request had what the credentials have given
	Configured bool     // it had an Authorization of the server's entry
	Err        error    // what the credentials say; may be nil
}

func (e *Refusal) Error() string {
	if e.HTTP == 0 {
		return fmt.Sprintf("sign in: %v", e.Err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d", e.HTTP)
	if e.Body != "" {
		fmt.Fprintf(&b, ": %s", e.Body)
	}
	for _, c := range e.Challenges {
		fmt.Fprintf(&b, "; WWW-Authenticate: %s", c)
	}
	if e.AuthServer != "" {
		fmt.Fprintf(&b, "; Mcp-Auth-Server: %s", e.AuthServer)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, "; sign in: %v", e.Err)
	}
	return b.String()
}

func (e *Refusal) Unwrap() error { return e.Err }

// Status is what a guest may know of it.
func (*Refusal) Status() abi.Status { return abi.Denied }
