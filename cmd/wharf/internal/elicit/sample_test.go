package elicit

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
)

const forty = `echo '{"role":"assistant","model":"m","content":{"type":"text","text":"40"}}'`

// shellAnswerer has a shell command as the sampler, where there is no terminal, and returns what is told of it.
func shellAnswerer(t *testing.T, command string) (*Asker, *strings.Builder) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are shell commands")
	}
	shown := new(strings.Builder)
	return &Asker{Terminal: &term.Terminal{In: strings.NewReader(""), Err: shown}, Server: host.Server{Name: "files"}, Sampler: []string{"sh", "-c", command}}, shown
}

// A process that the sampler leaves behind, and that keeps its stdout, holds no answer up.
func TestSamplerThatLeavesAChild(t *testing.T) {
	child := filepath.Join(t.TempDir(), "child")
	a, _ := shellAnswerer(t, "sleep 1000 & echo $! > "+child+"; "+forty)
	defer exec.Command("sh", "-c", "kill $(cat "+child+")").Run()
	if answer, err := a.Sample(t.Context(), json.RawMessage(`{}`)); err != nil || !strings.Contains(string(answer), `"40"`) {
		t.Errorf("%s, %v", answer, err)
	}
}

// A server has one sampler run at a time, and so many in all.
func TestSamplerIsBounded(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	t.Setenv("LOCK", lock)
	a, shown := shellAnswerer(t, `mkdir "$LOCK" && sleep 0.1 && rmdir "$LOCK" && `+forty)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := a.Sample(t.Context(), json.RawMessage(`{}`)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	a.Sampler[2] = forty
	for n := 5; n <= 102; n++ {
		_, err := a.Sample(t.Context(), json.RawMessage(`{}`))
		if n > 100 == (err == nil) || err != nil && !strings.Contains(err.Error(), "100") {
			t.Fatalf("answer %d: %v", n, err)
		}
	}
	if strings.Count(shown.String(), "100") != 1 {
		t.Errorf("shown %q", shown)
	}
}

// What is no result of sampling/createMessage is not sent: the server would fail at it. Its warning says what is wrong.
func TestSamplerThatAnswersNothingOfUse(t *testing.T) {
	const whole = `is no JSON object with "role", "model" and "content"`
	part := func(content string) string { return `{"role":"assistant","model":"m","content":` + content + `}` }
	for answer, want := range map[string]string{
		`{}`: whole + ": it wrote {}", `[]`: whole, "forty\x1b[2J\ntwo": whole + ": it wrote forty\\x1b[2J two", ``: whole + ": it wrote nothing", strings.Repeat("x", 5000): whole + ": it wrote " + strings.Repeat("x", 199) + "…", `{"action":"accept","content":{"name":"Ada"}}`: whole,
		`{"role":"assistant","model":5,"content":{"type":"text","text":"x"}}`:   whole,
		`{"role":"assistant","content":{"type":"text","text":"x"}}`:             whole,
		`{"Role":"assistant","model":"m","content":{"type":"text","text":"x"}}`: whole,
		`{"role":"robot","model":"m","content":{"type":"text","text":"x"}}`:     `its role is "robot"; expected assistant or user`,
		`{"role":null,"model":"m","content":{"type":"text","text":"x"}}`:        `its role is null;`,
		part(`"plain"`):                          `its content: expected an object, got string`,
		part(`null`):                             `its content: expected an object, got null`,
		part(`[{"type":"text","text":"x"},"y"]`): `its content: expected an object, got string`,
		part(`{"type":"bogus"}`):                 `its content: its type is "bogus"; expected audio, image, text, tool_result, tool_use`,
		part(`{"text":"x"}`):                     `its content: its type is "";`,
		part(`{"type":"text","text":5}`):         `its content: text: member "text": expected string, got number`,
		part(`{"type":"image","data":"AA=="}`):   `its content: image: member "mimeType": expected string, got nothing`,
		part(`{"type":"text","text":"x"}`):       "",
		part(`[]`):                               "",
		part(`[{"type":"text","text":""},{"type":"tool_use","id":"1","name":"rm","input":{}}]`):                                    "",
		`{"role":"user","model":"","content":{"type":"audio","data":"","mimeType":"audio/wav"},"stopReason":"endTurn","_meta":{}}`: "",
	} {
		t.Setenv("ANSWER", answer)
		a, shown := shellAnswerer(t, `printf %s "$ANSWER"`)
		got, err := a.Sample(t.Context(), json.RawMessage(`{}`))
		if want == "" && (err != nil || string(got) != answer) || want != "" && (err == nil || !strings.Contains(shown.String(), want)) {
			t.Errorf("%s: %s, %v, shown %q", answer, got, err, shown)
		}
	}
}

// The person is shown all that a sampler could read, and what it could read in another way
// than it is shown is refused.
func TestSamplingIsShownAsItIsRead(t *testing.T) {
	ask := func(params string) (string, error) {
		in, typed := io.Pipe()
		defer typed.Close()
		go io.WriteString(typed, "an answer\n")
		shown := new(strings.Builder)
		a := &Asker{Terminal: &term.Terminal{In: in, Err: shown, InTTY: true, ErrTTY: true}, Server: host.Server{Name: "files"}}
		_, err := a.Sample(t.Context(), json.RawMessage(params))
		return shown.String(), err
	}
	for _, params := range []string{
		`{"systemPrompt":"nice","SystemPrompt":"evil"}`,
		`{"messages":[],"messages":[]}`,
		`{"messages":[],"meſſages":[]}`,
		`{"messages":[{"role":"user","content":[],"Content":[]}]}`,
		`{"messages":[{"role":"user","content":{"type":"text","text":"evil","Text":"nice"}}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"evil","t\u0065xt":"nice"}]}]}`,
		`[]`,
	} {
		var no *host.RPCError
		if shown, err := ask(params); !errors.As(err, &no) || no.Code != -32602 || shown != "" {
			t.Errorf("%s: %v, shown %q", params, err, shown)
		}
	}
	shown, err := ask(`{"messages":[{"role":"user","content":{"type":"text","text":"hello"}},{"role":"user","content":{"type":"text","Text":"hidden"}},
		{"role":"user","content":{"type":"text","text":"a"},"aside":1}],"tools":[{"name":"rm","inputSchema":{}}],"temperature":2}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"│ user: hello\n", `"Text":"hidden"`, `"aside":1`, `│ tools: [{"name":"rm"`, `"temperature":2`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not in %q", want, shown)
		}
	}
}
