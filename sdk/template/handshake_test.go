package template_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/sdk/template"
)

// patience is how long the README waits for an answer, in each language.
var patience = regexp.MustCompile(`\b10_?000\b`)

// What the README says of a handshake is what it takes: put where it says, it makes of
// the template a transport that greets its peer, and passes the kit with the profile.
func TestHandshake(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins, which takes a while")
	}
	cache := testenv.CodeDir()
	for _, lang := range template.Languages() {
		t.Run(lang, func(t *testing.T) {
			if raced && lang != template.C {
				t.Skip("what could race is the same in C")
			}
			o := plugintest.Options{CacheDir: cache}
			if !testenv.Long() && lang != template.C {
				o.Only = []string{"request", "joined-split", "server-crashes"}
			}
			p := template.Plugin{Name: "pigeon", Kind: template.Transport, Lang: lang, Module: template.Module{Version: "v0.0.0", Dir: root(t)}}
			blocks := handshake(t, p)
			file := buildChanged(t, p, func(source string) string { return greeting(t, lang, source, blocks) })
			o.Profile = profile(t, blocks[2])
			plugintest.TestWith(t, file, o)
			for answer, want := range map[string]error{
				"\x06": nil,
				"\x15": host.ErrAuthRequired,
				"HTTP": host.ErrUnreachable,
				"":     host.ErrUnreachable,
			} {
				if testenv.Long() || lang == template.C || answer == "\x06" {
					meets(t, cache, file, answer, want)
				}
			}
			if !testenv.Long() && lang != template.C {
				return
			}
			hasty := buildChanged(t, p, func(source string) string {
				return patience.ReplaceAllString(greeting(t, lang, source, blocks), "10")
			})
			meets(t, cache, hasty, "silence", host.ErrUnreachable)
		})
	}
}

// words are what a connection fails with, by what the peer has answered.
var words = map[string]string{
	"\x15": "does not accept who we are", "HTTP": "something else", "": "hung up", "silence": "nothing answered",
}

// meets connects to a peer that gives an answer to the greeting. What has been compiled
// is in the folder cache.
func meets(t *testing.T, cache, file, answer string, want error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeted := make(chan string, 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go peer(ctx, l, answer, greeted)
	h, err := host.New(t.Context(), host.Config{
		Plugins: plugins.Builtin(), Files: map[string]config.Plugin{"pigeon": {Name: "pigeon", File: file}},
		Reconnect: config.Reconnect{Backoff: []time.Duration{}, Failures: -1}, OneShot: true, CacheDir: cache,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = h.Connect(t.Context(), host.Server{
		Name: "loft", Transport: "pigeon", Address: "tcp:" + l.Addr().String(),
		Auth: config.Auth{Provider: "bearer", Blob: true, Settings: map[string]any{"token": "coo"}},
	})
	if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), words[answer]) {
		t.Fatalf("answer %q: %v; want %q, %v", answer, err, words[answer], want)
	}
	if got := <-greeted; got != "HELLO coo\n" {
		t.Errorf("the peer was greeted with %q", got)
	}
}

// peer reads the greeting of one connection and answers it; behind an ACK it is a
// server of MCP. What it reads before its answer is the greeting alone: it would not
// get beyond it otherwise.
func peer(ctx context.Context, l net.Listener, answer string, greeted chan<- string) {
	conn, err := l.Accept()
	if err != nil {
		close(greeted)
		return
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, _ := in.ReadString('\n')
	if in.Buffered() > 0 {
		line += "and more"
	}
	greeted <- line
	if answer == "silence" {
		<-ctx.Done()
		return
	}
	io.WriteString(conn, answer)
	if answer == "\x06" {
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		defer stop()
		restarttest.NewServer().Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: conn, MaxLineLength: -1})
	}
}

// handshake returns the blocks of code that the README shows for a handshake.
func handshake(t *testing.T, p template.Plugin) (blocks []string) {
	t.Helper()
	if blocks = blocksOf(t, p, "A handshake before messages"); len(blocks) != 3 {
		t.Fatalf("the README shows %d blocks of code", len(blocks))
	}
	return blocks
}

// blocksOf returns the blocks of code in a section of the README.
func blocksOf(t *testing.T, p template.Plugin, title string) (blocks []string) {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name != "README.md" {
			continue
		}
		_, section, _ := strings.Cut(string(f.Text), "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range regexp.MustCompile("(?s)```[a-z]+\n(.*?)```\n").FindAllStringSubmatch(section, -1) {
			blocks = append(blocks, m[1])
		}
	}
	return blocks
}

// profile reads one for the kit.
func profile(t *testing.T, text string) *plugintest.Profile {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := plugintest.ReadProfile(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// places are where the blocks go, by language: before a line, or at the end where there
// is none, and behind a line; and which lines become others.
var places = map[string]struct {
	before, behind string
	others         []string
}{
	template.Go: {"", "func (t *transport) Handle(e sdk.Event) error {\n", []string{"	wire   wire\n", "	wire   wire\n	up     bool\n"}},
	template.C:  {"// wharf_event takes", "int32_t wharf_event(uint32_t kind, uint32_t handle, uint32_t arg, uint32_t len) {\n", nil},
	template.Rust: {"", "    let c = &CONNECTION;\n", []string{
		"    stream: Cell<u32>,\n", "    stream: Cell<u32>,\n    up: Cell<bool>,\n",
		"Connection { stream: Cell::new(0),", "Connection { stream: Cell::new(0), up: Cell::new(false),",
	}},
	template.AssemblyScript: {"", "export function wharf_event(kind: u32, handle: u32, arg: u32, len: u32): i32 {\n", nil},
}

// greeting puts the blocks where the README says that they go.
func greeting(t *testing.T, lang, source string, blocks []string) string {
	t.Helper()
	replace := func(old, by string) {
		if strings.Count(source, old) != 1 {
			t.Fatalf("%q is not there once", old)
		}
		source = strings.Replace(source, old, by, 1)
	}
	place := places[lang]
	replace(place.behind, place.behind+blocks[1])
	for i := 0; i < len(place.others); i += 2 {
		replace(place.others[i], place.others[i+1])
	}
	if place.before == "" {
		return source + "\n" + blocks[0]
	}
	replace(place.before, blocks[0]+"\n"+place.before)
	return source
}
