package auth

import (
	"testing"
	"time"
)

func TestAppliesAtOnce(t *testing.T) {
	plain, signing := &scripted{}, &scripted{}
	signing.manifest.Wants.Requests = true
	for name, tt := range map[string]struct {
		current  *current
		provider Provider
		want     bool
	}{
		"nothing was tried":      {nil, plain, false},
		"nothing is needed":      {&current{}, nil, true},
		"credentials":            {&current{from: "initial"}, plain, true},
		"fresh":                  {&current{from: "initial", renew: time.Now().Add(time.Hour)}, plain, true},
		"due":                    {&current{from: "initial", renew: time.Now().Add(-time.Hour)}, plain, false},
		"each request is signed": {&current{from: "initial"}, signing, false},
	} {
		a := &Account{current: tt.current, provider: tt.provider}
		if got := a.AppliesAtOnce(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
