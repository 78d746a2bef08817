package httpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/wharf-mcp/wharf/abi"
)

// Credentials sign in the requests of one origin: those under [Origin.SignedPath] whose
// method is in [Origin.SignedMethods], be it a POST, a stream, an upgrade or the DELETE at
// the end. No other request is shown to them, and no other request gets what they return:
// neither one to another path of the origin, nor one that follows a redirect out of it.
//
// A guest sees nothing of this. Its request is complete before Apply sees it, what
// Apply returns replaces what the guest sent, and a refusal stays here with all that
// the server said. The guest gets the last answer, or learns that it was denied.
//
// One exchange makes these calls one after the other. During a call, the clock of its server is
// stopped:
//
//	Apply, and the request is sent
//	  401 or 403: Challenge; with retry from Apply on, three times at most
//	  a redirect within the grant: from Apply on, with the new URL
//	  Nonce, if the answer holds one, and the answer is passed on
//
// Many exchanges make them at a time, so two refusals of one token come as two
// Challenges. [Challenge.Sent] tells whether there is a newer token than the one that was
// refused, so that another attempt is enough.
type Credentials interface {
	// Apply returns the headers that sign r in; without headers r is sent unchanged. Apply is
	// called each time that r is sent, so a proof that is valid for one use is never used
	// twice. It may take as long as a refresh or a person takes. It must return when ctx ends,
	// because the caller has then given the exchange up.
	//
	// With an error nothing is sent, and the exchange fails with a *[Refusal] that wraps it.
	// The exchange fails in the same way if Apply returns a header that no credential may
	// set: one that says where a request goes or how it is framed, that is the protocol's, or
	// that the user has configured, unless the origin says that it wins. A name that comes twice is a header with two values.
	Apply(ctx context.Context, r *Request) ([]abi.Pair, error)

	// Challenge is asked about a 401 or 403. If retry is true, the request is sent once more,
	// with the headers that Apply returns then. Otherwise, or after an error, the exchange
	// fails with a *[Refusal] that wraps the error; an error that says what to do next is
	// shown to the user. ctx is as in Apply.
	Challenge(ctx context.Context, c *Challenge) (retry bool, err error)

	// Nonce is told the DPoP-Nonce of each answer to a signed request that is no
	// challenge, whatever its status: a server renews its nonce with a 200 (RFC
	// 9449, section 8.2). It is called before the guest learns of the answer, so that the
	// next request can have the nonce. It must not block.
	Nonce(nonce string)
}

// Request is a request that is sent next. It belongs to the credentials until Apply returns.
type Request struct {
	HTTP *http.Request // not to be changed, nor its body read
	Body []byte        // the body, for those who sign its bytes; not to be changed
}

// URL returns the absolute URL as it is sent, with its query.
func (r *Request) URL() string { return r.HTTP.URL.String() }

// Host returns the header Host, which is not always the URL's.
func (r *Request) Host() string { return cmp.Or(r.HTTP.Host, r.HTTP.URL.Host) }

// Headers returns the other headers, sorted and with their names in lower case, for those
// who sign them. It leaves out those that net/http adds and those that a proxy may change.
func (r *Request) Headers() []abi.Pair { return signableHeaders(r.HTTP.Header) }

// BodyHash returns the hash of the body.
func (r *Request) BodyHash() [sha256.Size]byte { return sha256.Sum256(r.Body) }

// Challenge is a 401 or 403 to a request that was signed in, or might have been.
// Nothing in it is checked: it is what the server says.
type Challenge struct {
	Method, URL string // of the request that was refused
	Status      int    // 401 or 403
	Number      int    // how often this exchange was refused: 1, 2 or 3

	Authenticate []string // each WWW-Authenticate field
	AuthServer   string   // the field Mcp-Auth-Server
	DPoPNonce    string   // the field DPoP-Nonce
	Body         []byte   // the first 64 KiB of the body
	Said         string   // the body for a person, as [Refusal.Said] returns it

	Sent []abi.Pair // what Apply had returned for the request
}
