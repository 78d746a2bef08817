package auth

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Flow is one sign-in, from the question to its end. Its methods are for
// SignIn, on the goroutine that called it.
//
// An awaiting method returns a *[Problem] as its error if the host could not do what was
// asked: there is no network or person, or the person declined.
type Flow struct {
	past    []step.Event  // the start, and the answers so far
	at      int           // the index in past of the newest answer that SignIn has taken
	depth   int           // how many calls of Once are on the stack
	random  *rand.ChaCha8 // of past[at]
	keep    json.RawMessage
	actions []step.Action // of this step
}

// suspended is the panic value that ends a step in the middle of SignIn.
type suspended struct{}

// Start returns the question that began the flow.
func (f *Flow) Start() *Start { return f.past[0].Start }

// Settings decodes the settings in the auth table of the server entry into v.
func (f *Flow) Settings(v any) error {
	if err := json.Unmarshal(f.Start().Settings, v); err != nil {
		return Misconfigured("settings: "+err.Error(), "")
	}
	return nil
}

// Now returns the time of the last answer.
func (f *Flow) Now() time.Time { return time.UnixMilli(f.past[f.at].Now) }

// Random returns n random bytes, fit for keys.
func (f *Flow) Random(n int) []byte {
	b := make([]byte, n)
	f.random.Read(b)
	return b
}

// Load decodes a record into v and reports whether there is one. A flow that loads a
// record to renew it uses [Flow.LoadLocked].
func (f *Flow) Load(key RecordKey, v any) (found bool, err error) {
	return f.load(step.Load{Key: key}, v)
}

// LoadLocked waits until no other flow of any process has the record locked, and then locks and
// loads it. The lock is held until the record is stored or forgotten, or the flow ends. The
// record may be newer than one from [Flow.Load] before.
func (f *Flow) LoadLocked(key RecordKey, v any) (found bool, err error) {
	return f.load(step.Load{Key: key, Lock: true}, v)
}

func (f *Flow) load(load step.Load, v any) (bool, error) {
	e, err := f.await(step.Action{Kind: step.ActionLoad, Load: &load})
	if err != nil || e.Record == nil {
		return false, err
	}
	// A record that cannot be read was written by another version. It counts as
	// missing: the person signs in once more.
	return json.Unmarshal(e.Record.Value, v) == nil, nil
}

// Store writes a record. When it returns, the record has reached the disk.
func (f *Flow) Store(key RecordKey, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = f.await(step.Action{Kind: step.ActionStore, Store: &step.Store{Key: key, Value: value}})
	return err
}

// Forget removes a record, unless it was written again since it was loaded.
func (f *Flow) Forget(key RecordKey) error {
	_, err := f.await(step.Action{Kind: step.ActionForget, Forget: &step.Forget{Key: key}})
	return err
}

// HTTP performs one exchange. Any status is an answer, and no error.
func (f *Flow) HTTP(r HTTP) (*Response, error) {
	e, err := f.await(step.Action{Kind: step.ActionHTTP, HTTP: &r})
	return e.Response, err
}

// Listen opens the callback and returns its address.
func (f *Flow) Listen(l Listen) (redirectURI string, err error) {
	e, err := f.await(step.Action{Kind: step.ActionListen, Listen: &l})
	if err != nil {
		return "", err
	}
	return e.Listening.RedirectURI, nil
}

// Browse shows a page to the person, and returns what came to the callback. The
// host adds and checks the parameter state.
func (f *Flow) Browse(url string) (params map[string]string, err error) {
	e, err := f.await(step.Action{Kind: step.ActionOpenBrowser, OpenBrowser: &step.OpenBrowser{URL: url}})
	if err != nil {
		return nil, err
	}
	return e.Redirect.Params, nil
}

// Prompt asks the person for a text.
func (f *Flow) Prompt(p Prompt) (string, error) {
	e, err := f.await(step.Action{Kind: step.ActionPrompt, Prompt: &p})
	if err != nil {
		return "", err
	}
	return e.Input.Text, nil
}

// Run runs the command of the server entry.
func (f *Flow) Run() (*RunResult, error) {
	e, err := f.await(step.Action{Kind: step.ActionRun})
	return e.Run, err
}

// Key opens, makes or imports a private key, which stays in the host.
func (f *Flow) Key(k Key) (*PublicKey, error) {
	e, err := f.await(step.Action{Kind: step.ActionKey, Key: &k})
	return e.Key, err
}

// Sign makes a JWT of claims with a key of the host. The header may be nil.
func (f *Flow) Sign(key string, header, claims any) (jwt string, err error) {
	s := step.Sign{Key: key}
	if header != nil {
		if s.Header, err = json.Marshal(header); err != nil {
			return "", err
		}
	}
	if s.Claims, err = json.Marshal(claims); err != nil {
		return "", err
	}
	e, err := f.await(step.Action{Kind: step.ActionSign, Sign: &s})
	if err != nil {
		return "", err
	}
	return e.Signed.JWT, nil
}

// Wait sleeps for d, at most ten minutes.
func (f *Flow) Wait(d time.Duration) error {
	_, err := f.await(step.Action{Kind: step.ActionWait, Wait: &step.Wait{Milliseconds: d.Milliseconds()}})
	return err
}

// Show tells the person to type a code somewhere. It does not wait.
func (f *Flow) Show(s Show) { f.say(step.Action{Kind: step.ActionShow, Show: &s}) }

// Credentials sets what requests to the server carry from now on.
func (f *Flow) Credentials(c Credentials) {
	f.say(step.Action{Kind: step.ActionCredentials, Credentials: &c})
}

// Material signs in to a server over another transport than HTTP. The entry of the server says
// where the material goes.
func (f *Flow) Material(m Material) { f.say(step.Action{Kind: step.ActionMaterial, Material: &m}) }

// Keep leaves v for [Signer.Sign]. The host holds v as long as the credentials
// of this flow. A signer that has nothing to sign with does not call it in its
// flow.
func (f *Flow) Keep(v any) error {
	keep, err := json.Marshal(v)
	f.keep = keep
	return err
}

// say adds an action without an answer, unless an earlier step has added it.
func (f *Flow) say(a step.Action) {
	if f.at == len(f.past)-1 {
		f.actions = append(f.actions, a)
	}
}

// await returns the answer to an action. If there is no answer yet, it ends the step here. The
// event is never nil.
func (f *Flow) await(a step.Action) (*step.Event, error) {
	if f.at == len(f.past)-1 {
		f.actions = append(f.actions, a)
		panic(suspended{})
	}
	f.at++
	e := &f.past[f.at]
	f.seed()
	if want := step.Awaits(a.Kind); e.Kind != want {
		panic("auth: SignIn does not repeat itself: it awaits " + want + " where it awaited " + e.Kind + " before")
	}
	if e.Problem != nil {
		return e, e.Problem
	}
	return e, nil
}

// seed derives the randomness from the last answer.
func (f *Flow) seed() {
	var seed [32]byte
	copy(seed[:], f.past[f.at].Entropy)
	f.random = rand.NewChaCha8(seed)
}
