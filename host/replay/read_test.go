package replay

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

const header = `{"kind":"start","format":"wharf-record/1"}` + "\n"

// textOf returns the line of an event of connection 3.
func textOf(s *step) []byte {
	return (&writer{}).encode(&line{kind: kindEvent, connection: 3, step: s})
}

// What is written is read back as it was.
func TestLines(t *testing.T) {
	request := abi.AppendOpenRequest(nil, &abi.OpenRequest{Grant: "main"})
	for _, s := range []step{
		{kind: abi.EventClose, result: -5},
		{kind: abi.EventData, handle: 1<<31 - 1, arg: 1, content: content{bytes: []byte("text \x00\u2028\n"), size: 10, masked: true}},
		{kind: abi.EventHead, arg: 1<<16 + 200, content: content{bytes: []byte{0, 0, 0, 0, 0xff}, size: 5}, trap: "out of fuel", lied: true},
		{kind: abi.EventError, arg: 1<<32 - 9, content: content{bytes: []byte(strings.Repeat("\x01", 100)), size: 100}},
		{kind: abi.EventOpened, arg: abi.Sealed, content: content{size: 24}},
		{kind: abi.EventTimer, source: source{clock: []int64{1, 2}, random: []byte{0, 1}}, calls: []call{
			newCall(abi.CallOpen, []uint32{1, 0, 77, uint32(len(request))}, request, -1),
			newCall(abi.CallTake, []uint32{1, 77, 3}, nil, 3),
			newCall(abi.CallLog, []uint32{1, 77, 3}, []byte("\xffab"), 0),
			{op: abi.CallWrite, args: [5]uint32{1, 0, 9, 0}, content: content{size: 9, hidden: true}},
		}},
	} {
		s.number = 7
		line := textOf(&s)
		en, err := parse(line[:len(line)-1])
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if !reflect.DeepEqual(*en.step, s) || en.connection != 3 {
			t.Errorf("%s is read as\n%+v, not\n%+v", line, *en.step, s)
		}
	}
}

func TestBadRecordings(t *testing.T) {
	const opened = header + `{"kind":"connection","connection":1,"plugin":"variant"}` + "\n"
	for text, want := range map[string]string{
		"":                   "it is empty",
		"my thesis\n":        "line 1: it is not a line of a recording",
		"[]\n":               "line 1: it is not a line of a recording",
		`{"kind":"end"}`:     "line 1: it is not a line of a recording",
		header + header:      "line 2: it is not a line of a recording",
		header + "\n":        "line 2: it is not a line of a recording",
		header + `{"kind":1`: "line 2: it is not a line of a recording",
		`{"kind":"start","format":"wharf-record/2"}`:                                                     "line 1: its format is \"wharf-record/2\"; expected wharf-record/1",
		header + `{"kind":"connection","connection":1,"abi":"wharf2"}`:                                   "line 2: it is of a guest that spoke \"wharf2\"; expected wharf1",
		header + `{"kind":"sand"}`:                                                                       "line 2: it is not a line of a recording: its kind is \"sand\"",
		header + `{"kind":"event","connection":1,"event":"DESCRIBE"}`:                                    "line 2: an event of connection 1, which has not begun",
		opened + `{"kind":"connection","connection":1}`:                                                  "line 3: connection 1 begins where it cannot",
		opened + `{"kind":"event","connection":1,"event":"OPEN"}`:                                        "line 3: an event of connection 1",
		opened + `{"kind":"event","connection":1,"event":"EVENT"}`:                                       "the event \"EVENT\"",
		opened + `{"kind":"event","connection":1}`:                                                       "something is missing",
		opened + `{"kind":"event","connection":1,"event":"DATA","size":3}`:                               "something is missing",
		opened + `{"kind":"event","connection":1,"event":"MESSAGE","handle":3,"text":"ab"}`:              "something is missing",
		opened + `{"kind":"event","connection":1,"event":"DATA","handle":-1}`:                            "the number -1",
		opened + `{"kind":"event","connection":1,"event":"DATA","result":4294967296}`:                    "the number 4294967296",
		opened + `{"kind":"event","connection":1,"event":"DATA","base64":"?"}`:                           "illegal base64",
		opened + `{"kind":"event","connection":1,"event":"DATA","calls":[{"call":"clasp"}]}`:             "an unknown host call",
		opened + `{"kind":"event","connection":1,"event":"DATA","calls":[{"call":"close","args":[]}]}`:   "an unknown host call",
		opened + `{"kind":"event","connection":1,"event":"DATA","calls":[{"call":"save","args":[0,4]}]}`: "something is missing",
		opened + `{"kind":"end"}`:                                                                        "it has no connections of plugin variant, but no connections at all",
		opened + `{"kind":"event","connection":1,"event":"DESCRIBE"}`:                                    "it has no connections of plugin variant, but those of ",
	} {
		_, err := Run(t.Context(), strings.NewReader(text), variant(t, "plain"), Options{CacheDir: testenv.CodeDir()})
		if wrong := (*FileError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v; want %s", text, err, want)
		}
	}
	long := header + `{"kind":"` + strings.Repeat("x", maxLine) + "\"}\n"
	if _, err := Run(t.Context(), strings.NewReader(long), variant(t, "plain"), Options{CacheDir: testenv.CodeDir()}); !errors.Is(err, errLong) {
		t.Errorf("a line without end: %v", err)
	}
}

// A plugin that cannot be run is told from a recording that cannot.
func TestBadPlugins(t *testing.T) {
	for _, binary := range [][]byte{nil, []byte("my thesis"), []byte("\x00asm\x01\x00\x00\x00")} {
		if _, err := Run(t.Context(), strings.NewReader(header), binary, Options{}); !errors.Is(err, hosterr.ErrPluginRefused) {
			t.Errorf("%q: %v", binary, err)
		}
	}
}

// A file may say anything: what is read of it can be written again, and is the same.
func FuzzEntry(f *testing.F) {
	f.Add(`{"kind":"event","connection":1,"n":3,"event":"DATA","handle":1,"text":"a\n","clock":[1],"random":"AA==","calls":[{"call":"deliver","args":[0,0,1,1],"result":1}],"result":0}`)
	f.Add(`{"kind":"event","event":"OPENED","arg":1,"size":3,"trap":"x","lied":true}`)
	f.Add(`{"kind":"connection","connection":1,"server":"s","plugin":"p","sha256":"0","clock":[-1]}`)
	f.Fuzz(func(t *testing.T, text string) {
		en, err := parse([]byte(text))
		if err != nil || en.kind != kindEvent {
			return
		}
		en.step.line()
		for i := range en.step.calls {
			en.step.calls[i].lines(0)
		}
		written := textOf(en.step)
		again, err := parse(written[:len(written)-1])
		if err != nil || again.step.kind != en.step.kind || len(again.step.calls) != len(en.step.calls) || string(again.step.bytes) != string(en.step.bytes) {
			t.Fatalf("%s is written as %s: %v", text, written, err)
		}
	})
}
