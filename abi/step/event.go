package step

import "encoding/json"

// Version is what Manifest.ABI says of a provider that keeps this contract.
const Version = "wharf-auth-0"

// The exports of a provider.
const (
	ExportDescribe = "wharf_auth_describe"
	ExportStep     = "wharf_auth_step"
)

// Bounds of the contract. The host refuses anything larger with an error that names the
// provider, and never cuts it.
const (
	MaxCall     = 1 << 20   // bytes of a Call
	MaxReply    = 1 << 20   // bytes of a Reply
	MaxState    = 768 << 10 // bytes of a state
	MaxActions  = 16        // of one reply
	MaxSteps    = 512       // of one flow
	MaxResponse = 256 << 10 // bytes of the body of an http_response
	MaxRecord   = 64 << 10  // bytes of a record
	MaxBody     = 256 << 10 // bytes of the body of a request that is shown to a provider
)

// Call is the input of a step.
type Call struct {
	State json.RawMessage `json:"state,omitempty"` // of the last reply; absent at the start
	Event Event           `json:"event"`
}

// The kinds of events.
const (
	EventStart     = "start"
	EventLoaded    = "loaded"
	EventStored    = "stored"
	EventResponse  = "http_response"
	EventListening = "listening"
	EventRedirect  = "redirect"
	EventInput     = "input"
	EventRun       = "run_result"
	EventKey       = "key"
	EventSigned    = "signed"
	EventTimer     = "timer"
	EventRequest   = "request"
)

// Event is something that has happened. A provider must fail for an event of a kind that it does
// not know.
type Event struct {
	Kind    string `json:"kind"`
	Now     int64  `json:"now"`     // Unix time in milliseconds
	Entropy []byte `json:"entropy"` // 32 random bytes

	// Problem says why the awaited action failed; no other field is set then.
	Problem *Problem `json:"problem,omitempty"`

	// Only the field of the kind is set. A loaded event without a record says that the record is
	// missing; stored and timer have no field.
	Start     *Start     `json:"start,omitempty"`
	Record    *Record    `json:"record,omitempty"`
	Response  *Response  `json:"response,omitempty"`
	Listening *Listening `json:"listening,omitempty"`
	Redirect  *Redirect  `json:"redirect,omitempty"`
	Input     *Input     `json:"input,omitempty"`
	Run       *RunResult `json:"run,omitempty"`
	Key       *PublicKey `json:"key,omitempty"`
	Signed    *Signed    `json:"signed,omitempty"`
	Request   *Request   `json:"request,omitempty"`
}

// The codes of problems.
const (
	ProblemNetwork     = "network"     // no answer, or not in time; trying later may help
	ProblemUnavailable = "unavailable" // the host has no such thing: no person, no keyring, no command
	ProblemCancelled   = "cancelled"   // the person said no
	ProblemTimeout     = "timeout"     // the person said nothing
	ProblemRefused     = "refused"     // a policy of the host: a private address, a port that is taken
)

// Problem says why an action could not be taken.
type Problem struct {
	Code string `json:"code"`
	Text string `json:"text"` // for people; holds no secret
}

func (p *Problem) Error() string { return p.Text }

// The reasons of a start.
const (
	ReasonInitial    = "initial"
	ReasonExpired    = "expired"
	ReasonChallenged = "challenged"
	ReasonUpscope    = "upscope"
	ReasonLogin      = "login"
	ReasonLogout     = "logout"
)

// Start begins a flow.
type Start struct {
	Reason      string          `json:"reason"`
	Interactive bool            `json:"interactive"`         // a person can be asked
	Browser     bool            `json:"browser"`             // a browser of theirs can be opened, or a URL shown to them
	Server      Server          `json:"server"`              //
	Settings    json.RawMessage `json:"settings"`            // an object: the settings in the auth table of the server entry
	Challenge   *Challenge      `json:"challenge,omitempty"` // the server's last one: with challenged and upscope, and with login if there was one
	Client      Client          `json:"client"`              // how the program names itself
}

// Server is the server that a flow signs in to.
type Server struct {
	Name     string `json:"name"`               // of the entry
	URL      string `json:"url,omitempty"`      // as configured; absent for a process
	Resource string `json:"resource,omitempty"` // the URL as RFC 8707 wants it: no fragment, no slash for an empty path
	Revision string `json:"revision,omitempty"` // of the protocol, where it is settled

	// The material that a provider may give to a server over another transport than HTTP.
	Variables []string `json:"variables,omitempty"` // of its environment
	Blob      bool     `json:"blob,omitempty"`      // for its stream
}

// Client names the program.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Challenge is an answer with 401 or 403 from the server.
type Challenge struct {
	Status       int      `json:"status"`
	Authenticate []string `json:"authenticate,omitempty"` // every WWW-Authenticate field, as it came
	Token        string   `json:"token,omitempty"`        // the token that was refused, if one was sent
}

// Record is a record that was loaded.
type Record struct {
	Value json.RawMessage `json:"value"`
}

// Response is the answer to an http action. Names of headers are in lower case, and a header
// that comes twice is joined with commas. The host has followed redirects as the action allowed;
// URL is the address that answered.
type Response struct {
	Status  int               `json:"status"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// Listening says that the callback is open.
type Listening struct {
	RedirectURI string `json:"redirect_uri"`
}

// Redirect holds the parameters that came to the callback, each once. The host has checked state
// and removed it. The other parameters prove nothing yet.
type Redirect struct {
	Params map[string]string `json:"params"`
}

// Input is the text that the person typed, without the end of the line.
type Input struct {
	Text string `json:"text"`
}

// RunResult says how a command ended.
type RunResult struct {
	Code   int    `json:"code"`             // the exit code
	Stdout string `json:"stdout"`           // at most MaxRecord bytes
	Stderr string `json:"stderr,omitempty"` // the last line of it that is not blank
}

// PublicKey is the public half of a key of the host.
type PublicKey struct {
	JWK        json.RawMessage `json:"jwk"`        // RFC 7517
	Thumbprint string          `json:"thumbprint"` // RFC 7638, SHA-256, base64url
}

// Signed is a JWT in compact form (RFC 7515).
type Signed struct {
	JWT string `json:"jwt"`
}

// Request is an HTTP request to sign.
type Request struct {
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`     // those to be sent; names in lower case
	BodySHA256 string            `json:"body_sha256"` // in hexadecimal, of the empty body too

	// Body is the body, byte for byte. It is absent unless the provider's manifest wants it
	// ([Wants].Body), and if the body is empty.
	Body []byte `json:"body,omitempty"`
}
