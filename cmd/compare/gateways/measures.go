package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/startup"
)

// contestant is a way from a client to the server: a command that has a client on its standard
// streams, or a URL, or a command that says at which. A command with a URL serves there, and does not
// say so.
type contestant struct {
	name    string
	command []string
	env     []string
	url     string
	tool    string   // what it calls echo, if that is another name
	after   []string // a command that ends what it leaves behind
}

// measure is one figure of some contestants.
type measure struct {
	name, unit  string
	base        string // the contestant that others are compared with
	contestants func(*places) []contestant
	take        func(ctx context.Context, p *places, c contestant, long time.Duration) (float64, error)
}

var measures = []measure{
	{"pipe to pipe, 100 B, p50", "µs", "pump", pipes, pipedLatency(100)},
	{"pipe to pipe, 10 KB, p50", "µs", "pump", pipes, pipedLatency(10_000)},
	{"pipe to pipe, 1 MB, p50", "µs", "pump", pipes, pipedLatency(1_000_000)},
	{"pipe to HTTP, 100 B, p50", "µs", "wharf bridge", toWeb, pipedLatency(100)},
	{"pipe to HTTP, 1 MB, p50", "µs", "wharf bridge", toWeb, pipedLatency(1_000_000)},
	{"HTTP to HTTP, 100 B, p50", "µs", "reverse proxy", webs, postedLatency(100)},
	{"HTTP to HTTP, 10 KB, p50", "µs", "reverse proxy", webs, postedLatency(10_000)},
	{"HTTP to HTTP, 1 MB, p50", "µs", "reverse proxy", webs, postedLatency(1_000_000)},
	{"HTTP to HTTP, 64 at once", "calls/s", "reverse proxy", webs, crowd},
	{"idle, resident", "MB", "", bridge, idle},
	{"initialize, cold, 10 servers known", "ms", "", all("ten.toml"), cold},
	{"list of 1,000 tools, known", "ms", "", all("thousand.toml"), list},
}

func (p *places) server() []string { return []string{p.self, partServer, "2"} }

func (p *places) bridge(config, server string) contestant {
	return contestant{name: "wharf bridge", command: []string{p.wharf, "bridge", "--config", p.config(config), server}, env: p.env()}
}

func (p *places) env() []string {
	return []string{"HOME=" + p.home, "XDG_CACHE_HOME=" + p.home, "XDG_CONFIG_HOME=" + p.home, "XDG_DATA_HOME=" + p.home}
}

func pipes(p *places) []contestant {
	return []contestant{
		{name: "direct", command: p.server()},
		{name: "pump", command: append([]string{p.self, partPump}, p.server()...)},
		p.bridge("echo.toml", "echo"),
		{name: "proxy on the Go SDK", command: append([]string{p.self, partProxy}, p.server()...)},
	}
}

func bridge(p *places) []contestant { return []contestant{p.bridge("echo.toml", "echo")} }

func toWeb(p *places) []contestant {
	all := []contestant{p.bridge("web.toml", "web")}
	if p.node != "" {
		modules := filepath.Join(p.node, "node_modules")
		all = append(all,
			contestant{name: "supergateway", command: []string{"node", filepath.Join(modules, "supergateway", "dist", "index.js"), "--streamableHttp", p.web, "--logLevel", "none"}},
			contestant{name: "mcp-remote", command: []string{"node", filepath.Join(modules, "mcp-remote", "dist", "proxy.js"), p.web, "--transport", "http-only"}, env: p.env()},
			contestant{name: "mcporter", command: p.mcporter("serve", "--stdio"), env: p.env(), tool: "web__echo", after: p.mcporter("daemon", "stop")})
	}
	return all
}

func (p *places) mcporter(args ...string) []string {
	return append([]string{"node", filepath.Join(p.node, "node_modules", "mcporter", "dist", "cli.js"), "--config", p.config("mcporter.json")}, args...)
}

func webs(p *places) []contestant {
	all := []contestant{
		{name: "direct", url: p.web},
		{name: "reverse proxy", command: []string{p.self, partReverse, p.web}},
		{name: "wharf serve", command: []string{p.wharf, "serve", "--http", "0", "--config", p.config("web.toml")}, env: p.env()},
	}
	if p.proxy != "" {
		all = append(all, contestant{name: "mcp-proxy", command: []string{p.proxy, "-config", p.config("proxy.json")}, url: p.proxyURL})
	}
	return all
}

func all(config string) func(*places) []contestant {
	return func(p *places) []contestant {
		return []contestant{{name: "wharf serve", command: []string{p.wharf, "serve", "--search=off", "--config", p.config(config)}, env: p.env()}}
	}
}

func pipedLatency(size int) func(context.Context, *places, contestant, time.Duration) (float64, error) {
	return func(ctx context.Context, _ *places, c contestant, long time.Duration) (float64, error) {
		client, err := startPiped(ctx, c)
		if err != nil {
			return 0, err
		}
		defer client.close()
		if err := client.begin(); err != nil {
			return 0, err
		}
		if c.after != nil {
			stop := exec.CommandContext(ctx, c.after[0], c.after[1:]...)
			stop.Env = append(os.Environ(), c.env...)
			defer stop.Run()
		}
		return latency(client, size, long)
	}
}

// listening starts a command that says in its first line where it listens. It ends with its input, or
// when it is interrupted.
func listening(ctx context.Context, c contestant) (line []byte, stop func(), err error) {
	cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		in.Close()
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}
	line, err = bufio.NewReader(out).ReadBytes('\n')
	return bytes.TrimSpace(line), stop, err
}

// startPosted returns a client of a URL, or of a command that says at which URL it is.
func startPosted(ctx context.Context, c contestant) (*posted, error) {
	p := &posted{url: c.url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}, stop: func() {}}
	switch {
	case c.command != nil && c.url != "":
		cmd := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		p.stop = func() {
			cmd.Process.Kill()
			cmd.Wait()
		}
		for begun := time.Now(); p.begin() != nil; time.Sleep(20 * time.Millisecond) {
			if time.Since(begun) > 10*time.Second {
				p.stop()
				return nil, fmt.Errorf("%s does not serve %s", c.name, c.url)
			}
		}
		return p, nil
	case c.command != nil:
		line, stop, err := listening(ctx, c)
		if err != nil {
			return nil, err
		}
		p.url, p.stop = string(line), stop
		var served []struct {
			URL   string
			Token string `json:"token_file"`
		}
		if json.Unmarshal(line, &served) == nil {
			last := served[len(served)-1]
			token, err := os.ReadFile(last.Token)
			if err != nil {
				return nil, err
			}
			p.url, p.token = last.URL, strings.TrimSpace(string(token))
		}
	}
	return p, p.begin()
}

func postedLatency(size int) func(context.Context, *places, contestant, time.Duration) (float64, error) {
	return func(ctx context.Context, _ *places, c contestant, long time.Duration) (float64, error) {
		client, err := startPosted(ctx, c)
		if err != nil {
			return 0, err
		}
		defer client.close()
		return latency(client, size, long)
	}
}

func crowd(ctx context.Context, _ *places, c contestant, long time.Duration) (float64, error) {
	client, err := startPosted(ctx, c)
	if err != nil {
		return 0, err
	}
	defer client.close()
	return rate(client, 64, long)
}

// idle returns the resident memory of a bridge that has made a call and rests.
func idle(ctx context.Context, _ *places, c contestant, long time.Duration) (float64, error) {
	client, err := startPiped(ctx, c)
	if err != nil {
		return 0, err
	}
	defer client.close()
	if err := client.begin(); err != nil {
		return 0, err
	}
	if _, err := client.call("x"); err != nil {
		return 0, err
	}
	time.Sleep(2 * long)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", client.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	kilobytes, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	return kilobytes / 1000, err
}

// cold returns how long a process takes from its start to its answer to initialize.
func cold(ctx context.Context, _ *places, c contestant, _ time.Duration) (float64, error) {
	begun := time.Now()
	client, err := startPiped(ctx, c)
	if err != nil {
		return 0, err
	}
	defer client.close()
	err = client.begin()
	return float64(time.Since(begun).Microseconds()) / 1000, err
}

// list returns how long a list of tools takes that the gateway knows.
func list(ctx context.Context, _ *places, c contestant, _ time.Duration) (float64, error) {
	client, err := startPiped(ctx, c)
	if err != nil {
		return 0, err
	}
	defer client.close()
	if err := client.begin(); err != nil {
		return 0, err
	}
	var took []float64
	for range 21 {
		begun := time.Now()
		answer, err := client.do(`"method":"tools/list","params":{}}`)
		if err != nil {
			return 0, err
		}
		if n := bytes.Count(answer, []byte(`"inputSchema"`)); n != 1000 {
			return 0, fmt.Errorf("%d tools: %.200s", n, answer)
		}
		took = append(took, float64(time.Since(begun).Microseconds())/1000)
	}
	return median(took), nil
}

// newPlaces builds wharf, starts the server over HTTP and has wharf learn of the servers of each
// configuration. The caller calls stop.
func newPlaces(ctx context.Context, dir string, s *settings) (*places, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &places{self: self, dir: dir, home: filepath.Join(dir, "home"), node: s.node, proxy: s.proxy}
	if p.wharf, err = startup.Wharf(ctx, dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(p.home, 0o700); err != nil {
		return nil, err
	}
	site, stop, err := listening(ctx, contestant{command: []string{self, partWeb, "2"}})
	if err != nil {
		return nil, err
	}
	p.web, p.stop = string(site)+"/json", stop
	free, err := net.Listen("tcp", "127.0.0.1:0") // mcp-proxy does not choose a port
	if err != nil {
		return nil, err
	}
	free.Close()
	p.proxyURL = fmt.Sprintf("http://%s/web/mcp", free.Addr())
	configs := map[string]string{
		"web.toml":      fmt.Sprintf("[servers.web]\nurl = %q\n", p.web),
		"mcporter.json": fmt.Sprintf(`{"mcpServers":{"web":{"url":%q,"lifecycle":"keep-alive"}},"imports":[]}`, p.web),
		"proxy.json": fmt.Sprintf(`{"mcpProxy":{"baseURL":"http://%[1]s","addr":%[1]q,"name":"proxy","version":"1","type":"streamable-http"},`+
			`"mcpServers":{"web":{"transportType":"streamable-http","url":%[2]q}}}`, free.Addr(), p.web),
	}
	entry := func(name, tools string) string {
		return fmt.Sprintf("[servers.%s]\ncommand = %q\nargs = [%q, %q]\n", name, self, partServer, tools)
	}
	configs["echo.toml"], configs["thousand.toml"] = entry("echo", "2"), entry("echo", "1000")
	for n := range 10 {
		configs["ten.toml"] += entry("echo"+strconv.Itoa(n), "50")
	}
	for name, text := range configs {
		if err := os.WriteFile(p.config(name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"ten.toml", "thousand.toml"} {
		if err := learn(ctx, all(name)(p)[0]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// learn has a gateway list the tools of its servers, which it knows from then on.
func learn(ctx context.Context, c contestant) error {
	client, err := startPiped(ctx, c)
	if err != nil {
		return err
	}
	defer client.close()
	if err := client.begin(); err != nil {
		return err
	}
	_, err = client.do(`"method":"tools/list","params":{}}`)
	return err
}
