package authtest

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// forgetter loads a record, or does not, lets another process act, and forgets it.
type forgetter struct {
	loads     bool
	meanwhile func()
}

func (p forgetter) SignIn(f *auth.Flow) error {
	key := auth.RecordKey{Name: "key"}
	if p.loads {
		var saved string
		if _, err := f.Load(key, &saved); err != nil {
			return err
		}
	}
	p.meanwhile()
	return f.Forget(key)
}

// What forget removes is what Wharf removes: what the flow has loaded, and where it has
// loaded nothing, what is there. What another flow has loaded says nothing.
func TestForget(t *testing.T) {
	key := step.RecordKey{Name: "key"}
	for _, tt := range []struct {
		name        string
		kept, later bool // there is a record before the flow, and another one during it
		loads, left bool
	}{
		{name: "loaded", kept: true, loads: true},
		{name: "not loaded", kept: true},
		{name: "replaced", kept: true, later: true, loads: true, left: true},
		{name: "replaced and not loaded", kept: true, later: true},
		{name: "written where nothing was", later: true, loads: true, left: true},
		{name: "nothing", loads: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &Host{}
			if tt.kept {
				h.Vault.Put(key, "k1")
			}
			written := false
			p := forgetter{tt.loads, func() {
				if tt.later && !written {
					h.Vault.Put(key, "k2")
				}
				written = true
			}}
			if out, err := h.Run(p, step.Start{Reason: step.ReasonLogout}); err != nil || out.Fail != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if left := len(h.Vault.Keys("key")) > 0; left != tt.left {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Each flow begins with nothing seen: what one has loaded does not bind the next.
func TestForgetInAnotherFlow(t *testing.T) {
	h := &Host{}
	key := step.RecordKey{Name: "key"}
	h.Vault.Put(key, "k1")
	h.Vault.begin()
	h.Vault.load(&step.Load{Key: key})
	h.Vault.Put(key, "k2")
	if _, err := h.Run(forgetter{meanwhile: func() {}}, step.Start{Reason: step.ReasonLogout}); err != nil {
		t.Fatal(err)
	}
	if len(h.Vault.Keys("key")) > 0 {
		t.Error("it is still there")
	}
}
