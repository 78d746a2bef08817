package step

import "encoding/json"

// Reply is the output of a step.
type Reply struct {
	State   json.RawMessage `json:"state,omitempty"`
	Actions []Action        `json:"actions"`
}

// The kinds of actions.
const (
	ActionLoad        = "load"
	ActionStore       = "store"
	ActionForget      = "forget"
	ActionHTTP        = "http"
	ActionListen      = "listen"
	ActionOpenBrowser = "open_browser"
	ActionPrompt      = "prompt"
	ActionRun         = "run"
	ActionKey         = "key"
	ActionSign        = "sign"
	ActionWait        = "wait"
	ActionShow        = "show"
	ActionCredentials = "credentials"
	ActionMaterial    = "material"
	ActionDone        = "done"
	ActionFail        = "fail"
)

// Awaits returns the kind of the event that answers an action. It is "" for an action without an
// answer.
func Awaits(action string) (event string) {
	switch action {
	case ActionLoad:
		return EventLoaded
	case ActionStore, ActionForget:
		return EventStored
	case ActionHTTP:
		return EventResponse
	case ActionListen:
		return EventListening
	case ActionOpenBrowser:
		return EventRedirect
	case ActionPrompt:
		return EventInput
	case ActionRun:
		return EventRun
	case ActionKey:
		return EventKey
	case ActionSign:
		return EventSigned
	case ActionWait:
		return EventTimer
	}
	return ""
}

// Action is something that the host shall do. Only the field of its kind is set; run and done
// have no field.
type Action struct {
	Kind        string       `json:"kind"`
	Load        *Load        `json:"load,omitempty"`
	Store       *Store       `json:"store,omitempty"`
	Forget      *Forget      `json:"forget,omitempty"`
	HTTP        *HTTP        `json:"http,omitempty"`
	Listen      *Listen      `json:"listen,omitempty"`
	OpenBrowser *OpenBrowser `json:"open_browser,omitempty"`
	Prompt      *Prompt      `json:"prompt,omitempty"`
	Key         *Key         `json:"key,omitempty"`
	Sign        *Sign        `json:"sign,omitempty"`
	Wait        *Wait        `json:"wait,omitempty"`
	Show        *Show        `json:"show,omitempty"`
	Credentials *Credentials `json:"credentials,omitempty"`
	Material    *Material    `json:"material,omitempty"`
	Fail        *Fail        `json:"fail,omitempty"`
}

// RecordKey names a record among the provider's own: no provider can name another's. The record
// belongs to the URL of the server that the flow is for, whether Resource is set or not. If the
// server has no URL, the record belongs to the server entry of that name. A Resource must lie on
// the origin of that server. So the flow of one server cannot reach what the flow of another has
// stored. The one exception is the record that [RegistrationKey]
// names.
type RecordKey struct {
	Name     string `json:"name"` // what it holds: "token"
	Issuer   string `json:"issuer,omitempty"`
	Resource string `json:"resource,omitempty"`
	Client   string `json:"client,omitempty"`
}

// RegistrationKey is the key of a [Registration]. A provider that is part of the program shares
// that record among all of its servers. A provider that was loaded from a file does not: it has
// a registration for each server.
func RegistrationKey(issuer string) RecordKey {
	return RecordKey{Name: "registration", Issuer: issuer}
}

// Registration is a client that an authorization server has registered (RFC 7591). It is the
// only type of value that servers can share: under the key of a shared record, the host refuses
// to store any other.
type Registration struct {
	Kind     string `json:"kind,omitempty"` // how the client came about, in the provider's words
	ID       string `json:"id"`
	Secret   string `json:"secret,omitempty"`
	Method   string `json:"method,omitempty"`   // of client authentication
	Redirect string `json:"redirect,omitempty"` // the redirect URI
	Expires  int64  `json:"expires,omitempty"`  // of the secret, as Unix time in milliseconds; 0 if it does not expire
}

// Load reads a record. With Lock, it waits until no other flow of any process has the record
// locked, and then locks and reads it. The lock is held until the record is stored or forgotten,
// or the flow ends.
type Load struct {
	Key  RecordKey `json:"key"`
	Lock bool      `json:"lock,omitempty"`
}

// Store writes a record.
type Store struct {
	Key   RecordKey       `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Forget removes a record, unless it was written again since this flow loaded it.
type Forget struct {
	Key RecordKey `json:"key"`
}

// HTTP is one exchange. It goes out without cookies. It goes to a private address only if the
// server itself has one.
type HTTP struct {
	Method    string            `json:"method"` // GET or POST
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      string            `json:"body,omitempty"`
	Redirects int               `json:"redirects,omitempty"` // of a GET, on its origin; at most 3
	DPoP      string            `json:"dpop,omitempty"`      // the name of a key: the host adds a proof
}

// Listen opens the callback. Without a port the host picks a free one. If the given port is
// taken, the answer is a [Problem].
type Listen struct {
	Host string `json:"host,omitempty"` // "127.0.0.1" or "localhost", as it shall stand in the redirect URI; "" is 127.0.0.1
	Port int    `json:"port,omitempty"`
	Path string `json:"path,omitempty"` // "" is /callback
}

// OpenBrowser shows a page; a listen action must come before it. The host adds the state
// parameter (RFC 6749, section 4.1.1), and checks it in the redirect.
type OpenBrowser struct {
	URL string `json:"url"` // https, or http on the loopback interface
}

// Prompt asks the person for a text.
type Prompt struct {
	Label  string `json:"label"`
	Hint   string `json:"hint,omitempty"` // where to find what is asked for
	Secret bool   `json:"secret,omitempty"`
}

// The values of [Key].Do.
const (
	KeyOpen   = "open"   // the saved key of that name; made and saved on first use
	KeyImport = "import" // for this flow only
)

// Key opens, makes or imports a private key, which stays in the host.
type Key struct {
	Do   string `json:"do"`
	Name string `json:"name"`          // by which sign, http and credentials refer to it
	Alg  string `json:"alg"`           // ES256, RS256, PS256 or EdDSA
	PEM  string `json:"pem,omitempty"` // of an import: PKCS #8, PKCS #1 or SEC 1
}

// Sign makes a JWT. The host adds alg to the header.
type Sign struct {
	Key    string          `json:"key"`
	Header json.RawMessage `json:"header,omitempty"`
	Claims json.RawMessage `json:"claims"`
}

// Wait sleeps, at most ten minutes.
type Wait struct {
	Milliseconds int64 `json:"ms"`
}

// Show tells the person to type a code somewhere (RFC 8628).
type Show struct {
	URL      string `json:"url"`
	Code     string `json:"code"`
	Complete string `json:"complete,omitempty"` // a URL that has the code in it
}

// Credentials are what requests to the server carry from now on, in place of those before. They
// are either a token or headers.
type Credentials struct {
	Scheme    string            `json:"scheme,omitempty"` // of Authorization: "Bearer" or "DPoP"
	Token     string            `json:"token,omitempty"`
	DPoP      string            `json:"dpop,omitempty"` // the name of a key: a proof goes with each request
	Headers   map[string]string `json:"headers,omitempty"`
	ExpiresAt int64             `json:"expires_at,omitempty"` // Unix time in milliseconds; absent if it is not known
}

// Material is what signs in to a server that is not reached over HTTP: the variables of a process,
// or bytes for a stream. It reaches the server only if the server entry allows that.
type Material struct {
	Env  map[string]string `json:"env,omitempty"`  // of a process
	Blob []byte            `json:"blob,omitempty"` // of a stream; a transport can pass it on and not read it
}

// The classes of failures.
const (
	FailRetry  = "retry"  // the network or the server; nothing is lost, and a later request may go well
	FailLogin  = "login"  // only a person can help, by signing in
	FailConfig = "config" // only a change of the configuration can help
)

// Fail ends a flow without credentials.
type Fail struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do, if the host cannot know
	URL     string `json:"url,omitempty"`  // of class login: where the person would sign in
}
