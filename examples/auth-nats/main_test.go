//go:build !wasip1

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

func signIn(settings string) step.Reply {
	call, _ := json.Marshal(step.Call{Event: step.Event{
		Kind: step.EventStart, Entropy: make([]byte, 32),
		Start: &step.Start{Reason: step.ReasonInitial, Settings: json.RawMessage(settings), Server: step.Server{Name: "fleet"}},
	}})
	var r step.Reply
	reply, err := auth.Step(provider{}, call)
	if err == nil {
		err = json.Unmarshal(reply, &r)
	}
	if err != nil {
		panic(err)
	}
	return r
}

// What is given fits between the fields of another object, whatever it holds.
func TestBlob(t *testing.T) {
	for settings, want := range map[string]string{
		`{"token":"s3cr3t"}`:                     `"auth_token":"s3cr3t"`,
		`{"user":"ada","password":"p\"},\r\n{"}`: `"user":"ada","pass":"p\"},\r\n{"`,
	} {
		actions := signIn(settings).Actions
		if len(actions) != 2 || actions[0].Material == nil {
			t.Fatalf("%s: %+v", settings, actions)
		}
		blob := string(actions[0].Material.Blob)
		if blob != want || !json.Valid([]byte("{"+blob+"}")) || strings.ContainsAny(blob, "\r\n") {
			t.Errorf("%s gives %q, want %q", settings, blob, want)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	for _, settings := range []string{`{}`, `{"token":"a","user":"b","password":"c"}`, `{"user":"b"}`, `{"password":"c"}`} {
		actions := signIn(settings).Actions
		if len(actions) != 1 || actions[0].Fail == nil || actions[0].Fail.Class != step.FailConfig {
			t.Errorf("%s: %+v", settings, actions)
		}
	}
}
