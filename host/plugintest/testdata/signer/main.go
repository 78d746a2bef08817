// Command signer is an auth provider that asks a person for a key when the server wants one,
// keeps the key in the vault, and signs each request with it: its bytes, not their hash.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

func init() {
	auth.Register(auth.Manifest{
		Name: "signer", Version: "1.0.0", About: "for tests",
		Settings: []auth.Setting{{Key: "fault", About: "the mistake"}},
		Wants:    auth.Wants{Prompt: true, Requests: true, Body: true},
	}, signer{})
}

func main() {}

type signer struct{}

func (signer) SignIn(f *auth.Flow) error {
	var settings struct{ Fault string }
	if err := f.Settings(&settings); err != nil {
		return err
	}
	start, record := f.Start(), auth.RecordKey{Name: "key", Resource: f.Start().Server.Resource}
	var key string
	switch start.Reason {
	case auth.ReasonLogout:
		return f.Forget(record)
	case auth.ReasonUpscope:
		return auth.Misconfigured("the key does not allow it", "")
	case auth.ReasonInitial, auth.ReasonExpired:
		if found, _ := f.Load(record, &key); !found || settings.Fault == "keeps-nothing" {
			return nil // a server that wants a key says so
		}
		return f.Keep(key)
	case auth.ReasonChallenged, auth.ReasonLogin:
	default:
		return auth.Misconfigured("unknown reason", "")
	}
	if !start.Interactive {
		return auth.NeedsLogin("a key is wanted", "")
	}
	key, err := f.Prompt(auth.Prompt{Label: "key", Secret: true})
	if err != nil || settings.Fault == "keeps-nothing" {
		return err
	}
	_ = f.Store(record, key)
	return f.Keep(key)
}

func (signer) Sign(r *auth.Request, _ int64, kept json.RawMessage) (map[string]string, error) {
	var key string
	if err := json.Unmarshal(kept, &key); err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(r.Body)
	return map[string]string{"X-Signature": hex.EncodeToString(mac.Sum(nil))}, nil
}
