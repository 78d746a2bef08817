// Guest is an auth provider for tests, which does what its setting says.
package main

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

type guest struct{}

func init() {
	auth.Register(auth.Manifest{
		Name: "guest", Version: "1.0.0", About: "for tests",
		Settings: []auth.Setting{{Key: "do", About: "what to do"}},
		Wants:    auth.Wants{Origins: []string{"https://sso.example"}, Requests: true},
	}, guest{})
}

var hoard [][]byte

func (guest) SignIn(f *auth.Flow) error {
	var settings struct{ Do string }
	if err := f.Settings(&settings); err != nil {
		return err
	}
	switch settings.Do {
	case "panic":
		panic("on purpose")
	case "loop":
		for {
		}
	case "grow":
		for {
			hoard = append(hoard, make([]byte, 1<<20))
		}
	case "recurse":
		recurse(1)
	case "leave":
		os.Exit(0)
	case "exit":
		os.Exit(3)
	case "same": // signs as before, also when that was refused
		return f.Keep(1)
	case "keep":
		if err := f.Store(auth.RecordKey{Name: "token"}, "s3cr3t"); err != nil {
			return err
		}
		return errors.New("it is kept")
	case "recall":
		token := "nothing"
		if _, err := f.Load(auth.RecordKey{Name: "token"}, &token); err != nil {
			return err
		}
		return errors.New("it recalls " + token)
	case "error":
		return errors.New("this is how it is")
	}
	return signIn(f)
}

func recurse(n int) int { return recurse(n+1) + n }

// signIn is a refresh: load, exchange, store.
func signIn(f *auth.Flow) error {
	key := auth.RecordKey{Name: "token", Resource: f.Start().Server.Resource}
	var token string
	if _, err := f.LoadLocked(key, &token); err != nil {
		return err
	}
	answer, err := f.HTTP(auth.HTTP{Method: "POST", URL: "https://sso.example/token", Body: "refresh=" + token})
	if err != nil {
		return err
	}
	if err := f.Store(key, answer.Body); err != nil {
		return err
	}
	f.Credentials(auth.Credentials{Scheme: "Bearer", Token: answer.Body, ExpiresAt: f.Now().UnixMilli() + 3600_000})
	return nil
}

func (guest) Sign(r *auth.Request, _ int64, _ json.RawMessage) (map[string]string, error) {
	return map[string]string{"Authorization": "Hash " + r.BodySHA256}, nil
}

func main() {}
