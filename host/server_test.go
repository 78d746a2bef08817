package host_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/mcptest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// The test binary is also the servers that the tests talk to: it is one of
// them when this variable names it.
const serverVariable = "WHARF_TEST_SERVER"

var servers = map[string]func(){
	"sdk":     func() { mcptest.Run() },
	"legacy":  func() { serveRaw(false) },
	"modern":  func() { serveRaw(true) },
	"exits":   func() { fmt.Fprintln(os.Stderr, "no database at this address"); os.Exit(3) },
	"silent":  func() { io.Copy(io.Discard, os.Stdin) },
	"deaf":    serveDeaf,
	"shy":     serveShy,
	"endless": serveEndless,
	"stays":   func() { signal.Ignore(syscall.SIGTERM); mcptest.Run(); time.Sleep(time.Hour) },
}

func TestMain(m *testing.M) {
	if serve := servers[os.Getenv(serverVariable)]; serve != nil {
		serve()
		os.Exit(0)
	}
	testenv.Parallel(4)
	goleak.VerifyTestMain(m)
}

// server returns the entry of one of the servers.
func server(name string) host.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return host.Server{Name: name, Command: self, Env: map[string]string{serverVariable: name}}
}

// onDemand has a server started anew by each call that finds it gone, however often
// that is: for tests of calls.
var onDemand = config.Reconnect{Backoff: []time.Duration{}, Failures: -1}

// newHost returns a host that ends with the test. All of them share a cache, so
// that a plugin is compiled once. Where the test says no more, servers come back
// only on demand, and have all the time to start: under the race detector the
// plugins of a site that wants a sign-in take most of a minute to compile. That
// a plugin takes long to compile is not told, since it depends on the machine.
func newHost(t testing.TB, c host.Config) *host.Host {
	t.Helper()
	if c.Plugins == nil {
		c.Plugins = plugins.Builtin()
	}
	if c.Reconnect.Backoff == nil {
		c.Reconnect = onDemand
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = -1
	}
	if c.CacheDir == "" {
		c.CacheDir = testenv.CodeDir()
	}
	c.OneShot = true
	if tell := c.Event; tell != nil {
		c.Event = func(e host.Event) {
			if !strings.HasSuffix(e.Warning, "is still being loaded; it is compiled the first time, which takes a while") {
				tell(e)
			}
		}
	}
	h, err := host.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func connect(t testing.TB, h *host.Host, s host.Server) *host.Session {
	t.Helper()
	session, err := h.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// request is as much of a message as the raw server needs.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments struct{ Message string }
	}
}

// serveRaw is a server without a library: what it answers to a tools/call is
// the business of the tool, and most tools are no good.
func serveRaw(modern bool) {
	serveConn(bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20), modern)
}

func serveConn(in *bufio.Reader, out *bufio.Writer, modern bool) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		json.Unmarshal(line, &r)
		switch {
		case r.ID == nil:
		case r.Method == "server/discover" && modern:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}}`+"\n", r.ID)
		case r.Method == "initialize" && !modern:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", r.ID)
		case r.Method == "tools/call":
			callRaw(out, r)
		case r.Method == "tools/list":
			list := make([]string, 0, len(tools))
			for _, name := range slices.Sorted(maps.Keys(tools)) {
				list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{}}`, name))
			}
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", r.ID, strings.Join(list, ","))
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`+"\n", r.ID, r.Method)
		}
		out.Flush()
	}
}

// good is the result of a call that went well.
func good(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"resultType":"complete"}`, quoted)
}

// tools write the answer to a call, one or many lines. %ID% is the id.
var tools = map[string]string{
	"echo":         "",
	"mute":         "",
	"wrong id":     `{"jsonrpc":"2.0","id":4711,"result":{}}`,
	"text id":      `{"jsonrpc":"2.0","id":"%ID%","result":{}}`,
	"float id":     `{"jsonrpc":"2.0","id":%ID%.0,"result":{}}`,
	"null id":      `{"jsonrpc":"2.0","id":null,"result":{}}`,
	"both":         `{"jsonrpc":"2.0","id":%ID%,"result":{},"error":{"code":1,"message":"m"}}`,
	"neither":      `{"jsonrpc":"2.0","id":%ID%}`,
	"no version":   `{"id":%ID%,"result":{}}`,
	"old version":  `{"jsonrpc":"1.0","id":%ID%,"result":{}}`,
	"other case":   `{"jsonrpc":"2.0","id":%ID%,"Result":{}}`,
	"twice a key":  `{"jsonrpc":"2.0","id":%ID%,"result":{},"result":{}}`,
	"bad utf-8":    "{\"jsonrpc\":\"2.0\",\"id\":%ID%,\"result\":{\"a\":\"\xff\"}}",
	"surrogate":    `{"jsonrpc":"2.0","id":%ID%,"result":{"\ud800":1}}`,
	"half emoji":   `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":"cut \ud83d"}],"resultType":"complete"}}`,
	"nul":          "{\"jsonrpc\":\"2.0\",\"id\":%ID%,\"result\":{\"a\":\"\x00\"}}",
	"deep":         `{"jsonrpc":"2.0","id":%ID%,"result":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}`,
	"cut short":    `{"jsonrpc":"2.0","id":%ID%,"result":{"a":`,
	"no tool":      `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32602,"message":"unknown tool"}}`,
	"odd error":    `{"jsonrpc":"2.0","id":%ID%,"error":"no"}`,
	"odd result":   `{"jsonrpc":"2.0","id":%ID%,"result":[1,2,3]}`,
	"new type":     `{"jsonrpc":"2.0","id":%ID%,"result":{"resultType":"surprise"}}`,
	"array":        `[{"jsonrpc":"2.0","id":%ID%,"result":{}}]`,
	"garbage":      "\x00\xff<html>\n{[\n\n\r\nnull\n42\n" + `{"jsonrpc":"2.0","id":%ID%,"result":` + good("still here") + `}`,
	"rubbish":      strings.Repeat("rubbish\n", 100), // and no answer
	"twice":        `{"jsonrpc":"2.0","id":%ID%,"result":` + good("first") + "}\n" + `{"jsonrpc":"2.0","id":%ID%,"result":` + good("second") + `}`,
	"asks":         `{"jsonrpc":"2.0","id":"s1","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":"s2","method":"no/such"}` + "\n" + `{"jsonrpc":"2.0","id":%ID%,"result":` + good("asked") + `}`,
	"long":         "", // 100 MB in one line
	"strangers":    "", // 100,000 answers without a request
	"notes":        "", // 200,000 notifications
	"stderr":       "", // 20 MB on stderr
	"mutters":      "", // a line on stderr
	"begins a key": "", // on stderr
	"ends a key":   "", // and dies
	"dies":         "", // in the middle of the call
	"pretty lines": "{\n \"jsonrpc\":\"2.0\",\n \"id\":%ID%,\n \"result\":{}\n}",
}

const (
	longLine  = 100 << 20
	strangers = 100_000
	manyNotes = 200_000
)

// callRaw answers a call as the tool has it.
func callRaw(out *bufio.Writer, r request) {
	id := string(r.ID)
	answer := func(text string) {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, good(text))
	}
	switch name := strings.ReplaceAll(r.Params.Name, "_", " "); name { // names of an aggregate have no spaces
	case "mute":
	case "echo":
		answer(r.Params.Arguments.Message)
	case "enter":
		answer(enter(r.Params.Arguments.Message))
	case "long":
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range longLine / len(chunk) {
			out.Write(chunk)
		}
		out.WriteString("\"}]}}\n")
	case "strangers":
		for n := range strangers {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", 1_000_000+n)
		}
		answer("done")
	case "notes":
		for n := range manyNotes {
			out.WriteString(`{"jsonrpc":"2.0","method":"notifications/note","params":{"n":`)
			out.WriteString(strconv.Itoa(n))
			out.WriteString("}}\n")
		}
		answer("done")
	case "stderr":
		noise := bytes.Repeat([]byte("all is well\n"), 1<<10)
		for range (20 << 20) / len(noise) {
			os.Stderr.Write(noise)
		}
		answer("done")
	case "mutters":
		fmt.Fprintln(os.Stderr, "the cheese is low")
		if r.Params.Arguments.Message != "for ever" {
			answer("done")
		}
	case "begins a key":
		os.Stderr.WriteString("bad key: " + splitKey[:len(splitKey)/2])
		answer("done")
	case "ends a key":
		os.Stderr.WriteString(splitKey[len(splitKey)/2:] + "\nout of cheese\n")
		os.Exit(7)
	case "dies":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(7)
	default:
		out.WriteString(strings.ReplaceAll(tools[name], "%ID%", id) + "\n")
	}
}

// serveDeaf shakes hands and then reads no more.
func serveDeaf() {
	in := bufio.NewReader(os.Stdin)
	line, _ := in.ReadBytes('\n')
	var r request
	json.Unmarshal(line, &r)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}}`+"\n", r.ID)
	select {}
}

// serveShy leaves when it is asked anything before initialize.
func serveShy() {
	in := bufio.NewReader(os.Stdin)
	line, _ := in.ReadBytes('\n')
	var r request
	json.Unmarshal(line, &r)
	if r.Method != "initialize" {
		os.Exit(1)
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"shy","version":"1"}}}`+"\n", r.ID)
	io.Copy(io.Discard, in)
}

// serveEndless shakes hands and then writes a line that has no end.
func serveEndless() {
	in := bufio.NewReader(os.Stdin)
	line, _ := in.ReadBytes('\n')
	var r request
	json.Unmarshal(line, &r)
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}}`+"\n", r.ID)
	in.ReadBytes('\n')
	for chunk := bytes.Repeat([]byte("x"), 1<<20); ; {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return
		}
	}
}
