//go:build !wasip1

package main

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

const settings = `{"access_key_id":"AKIDEXAMPLE","secret_access_key":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY","region":"us-east-1","service":"service"}`

// stepper takes one step, natively or in the module.
type stepper func(t *testing.T, call step.Call) step.Reply

// walk takes the whole way: a flow without credentials, and requests with them.
func walk(t *testing.T, take stepper) {
	started := take(t, call(nil, &step.Start{Reason: step.ReasonInitial, Settings: json.RawMessage(settings)}, nil))
	if want := []step.Action{{Kind: step.ActionDone}}; !reflect.DeepEqual(started.Actions, want) {
		t.Fatalf("start: %+v", started.Actions)
	}
	for _, v := range vectors {
		if v.session != "" {
			continue
		}
		signed := take(t, call(started.State, nil, request(v.method, v.target, v.body, v.headers)))
		if len(signed.Actions) != 2 || signed.Actions[0].Credentials == nil || signed.Actions[1].Kind != step.ActionDone {
			t.Fatalf("%s: %+v", v.name, signed.Actions)
		}
		if got := signed.Actions[0].Credentials.Headers["authorization"]; !strings.HasSuffix(got, "Signature="+v.signature) {
			t.Errorf("%s: %s", v.name, got)
		}
	}
	unsigned := take(t, call(started.State, nil, &step.Request{Method: "POST", URL: "https://h/?%"}))
	wantFailure(t, unsigned, step.FailRetry, "query")
}

func call(state json.RawMessage, start *step.Start, request *step.Request) step.Call {
	e := step.Event{Kind: step.EventStart, Now: vectorTime.UnixMilli(), Entropy: make([]byte, 32), Start: start, Request: request}
	if request != nil {
		e.Kind = step.EventRequest
	} else {
		e.Start.Server.Name = "agent"
	}
	return step.Call{State: state, Event: e}
}

func native(t *testing.T, call step.Call) (reply step.Reply) {
	t.Helper()
	in, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	out, err := auth.Step(sigv4{}, in)
	if err == nil {
		err = json.Unmarshal(out, &reply)
	}
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestFlow(t *testing.T) { walk(t, native) }

// The same way through the module that a user installs.
func TestModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the module, which takes a while")
	}
	plugin := load(t, testenv.Module(t, "."))
	_, out, err := plugin.Call(step.ExportDescribe, nil)
	var described step.Manifest
	if err != nil || json.Unmarshal(out, &described) != nil {
		t.Fatalf("%s: %v", out, err)
	}
	want := manifest
	want.ABI = step.Version
	if !reflect.DeepEqual(described, want) {
		t.Errorf("%+v", described)
	}
	walk(t, func(t *testing.T, call step.Call) (reply step.Reply) {
		in, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		_, out, err := plugin.Call(step.ExportStep, in)
		if err == nil {
			err = json.Unmarshal(out, &reply)
		}
		if err != nil {
			t.Fatal(err)
		}
		return reply
	})
}

func load(t *testing.T, module []byte) *extism.Plugin {
	t.Helper()
	plugin, err := extism.NewPlugin(context.Background(),
		extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: module}}}, extism.PluginConfig{EnableWasi: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plugin.Close(context.Background()) })
	return plugin
}

func TestRefusals(t *testing.T) {
	for settings, want := range map[string]string{
		`{}`: "access_key_id is empty",
		strings.Replace(settings, "us-east-1", "us east", 1):     "region is empty or has a space",
		strings.Replace(settings, "us-east-1", "us/east", 1):     "no slash",
		strings.Replace(settings, `"us-east-1"`, "5", 1):         "settings",
		strings.Replace(settings, "EXAMPLEKEY", `KEY\r\n`, 1):    "secret_access_key is empty or has",
		strings.Replace(settings, `"AKIDEXAMPLE"`, `"AK,ID"`, 1): "no comma",
	} {
		reply := native(t, call(nil, &step.Start{Reason: step.ReasonInitial, Settings: json.RawMessage(settings)}, nil))
		wantFailure(t, reply, step.FailConfig, want)
	}
	refused := &step.Start{Reason: step.ReasonChallenged, Settings: json.RawMessage(settings), Challenge: &step.Challenge{Status: 403}}
	wantFailure(t, native(t, call(nil, refused, nil)), step.FailConfig, "agent does not take the signature")
}

func wantFailure(t *testing.T, reply step.Reply, class, want string) {
	t.Helper()
	if len(reply.Actions) != 1 || reply.Actions[0].Fail == nil {
		t.Fatalf("%+v; want a failure: %s", reply.Actions, want)
	}
	if fail := reply.Actions[0].Fail; fail.Class != class || !strings.Contains(fail.Message, want) {
		t.Errorf("%+v; want %s: %s", fail, class, want)
	}
}
