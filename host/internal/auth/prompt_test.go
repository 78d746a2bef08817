package auth

import (
	"testing"
	"time"
)

func TestPrompt(t *testing.T) {
	plain, signing := &scripted{}, &scripted{}
	signing.manifest.Wants.Requests = true
	for name, tt := range map[string]struct {
		held     *held
		provider Provider
		want     bool
	}{
		"nothing was tried":      {nil, plain, false},
		"nothing is needed":      {&held{}, nil, true},
		"credentials":            {&held{from: "initial"}, plain, true},
		"fresh":                  {&held{from: "initial", renew: time.Now().Add(time.Hour)}, plain, true},
		"due":                    {&held{from: "initial", renew: time.Now().Add(-time.Hour)}, plain, false},
		"each request is signed": {&held{from: "initial"}, signing, false},
	} {
		a := &Account{held: tt.held, provider: tt.provider}
		if got := a.Prompt(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
