package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// caller makes calls of the tool echo, and is safe for several goroutines only over HTTP.
type caller interface {
	// call returns the answer, which has the text in it.
	call(text string) ([]byte, error)
	close()
}

const hello = `"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func callOf(tool, text string) string {
	return `"method":"tools/call","params":{"name":"` + tool + `","arguments":{"message":"` + text + `"}}}`
}

// piped is a client on the standard streams of a command.
type piped struct {
	tool   string // as the gateway calls echo
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	lastID int
	said   bytes.Buffer // on its stderr
}

func startPiped(ctx context.Context, c contestant) (*piped, error) {
	p := &piped{tool: cmp.Or(c.tool, "echo"), cmd: exec.CommandContext(ctx, c.command[0], c.command[1:]...)}
	p.cmd.Env = append(os.Environ(), c.env...)
	p.cmd.WaitDelay = time.Second
	p.cmd.Stderr = &p.said
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 4<<20)
	return p, p.cmd.Start()
}

// begin makes the handshake.
func (p *piped) begin() error {
	if _, err := p.do(hello); err != nil {
		return err
	}
	_, err := io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

func (p *piped) call(text string) ([]byte, error) { return p.do(callOf(p.tool, text)) }

// do sends a request without its id, and returns the answer.
func (p *piped) do(rest string) ([]byte, error) {
	p.lastID++
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,%s`+"\n", p.lastID, rest); err != nil {
		return nil, err
	}
	id := fmt.Appendf(nil, `"id":%d`, p.lastID)
	for {
		line, err := p.out.ReadSlice('\n')
		if err != nil {
			p.close()
			return nil, fmt.Errorf("%w; it says: %s", err, bytes.TrimSpace(p.said.Bytes()))
		}
		if bytes.Contains(line, id) { // else it is a notification
			return line, refusal(line)
		}
	}
}

func (p *piped) close() {
	p.in.Close()
	p.cmd.Wait()
}

// posted is a client over HTTP.
type posted struct {
	url, token, session string
	client              *http.Client
	lastID              atomic.Int64
	stop                func()
}

func (p *posted) begin() error {
	_, err := p.do(hello)
	return err
}

func (p *posted) call(text string) ([]byte, error) { return p.do(callOf("echo", text)) }

func (p *posted) do(rest string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s`, p.lastID.Add(1), rest)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	if p.session != "" {
		r.Header.Set("Mcp-Session-Id", p.session)
	}
	response, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, body)
	}
	if p.session == "" {
		p.session = response.Header.Get("Mcp-Session-Id")
	}
	if err == nil {
		err = refusal(body)
	}
	return body, err
}

// refusal returns the error of an answer that is one.
func refusal(answer []byte) error {
	if bytes.Contains(answer[:min(len(answer), 100)], []byte(`"error":{`)) {
		return fmt.Errorf("the answer is %.300s", answer)
	}
	return nil
}

func (p *posted) close() {
	p.client.CloseIdleConnections()
	p.stop()
}

var errShort = errors.New("the answer is shorter than what was sent")

// latency returns the median of calls one after the other, in microseconds.
func latency(c caller, size int, long time.Duration) (float64, error) {
	text := strings.Repeat("x", size)
	var took []float64
	for begun, warm := time.Now(), false; ; {
		at := time.Now()
		answer, err := c.call(text)
		if err != nil {
			return 0, err
		}
		if len(answer) < size {
			return 0, fmt.Errorf("%w: %.200s", errShort, answer)
		}
		took = append(took, float64(time.Since(at).Nanoseconds())/1000)
		switch past := time.Since(begun); {
		case warm && past > long:
			return median(took), nil
		case !warm && past > long/2:
			begun, warm, took = time.Now(), true, took[:0]
		}
	}
}

// rate returns how many calls of 100 bytes a second many callers make at once.
func rate(c caller, callers int, long time.Duration) (float64, error) {
	text := strings.Repeat("x", 100)
	if _, err := c.call(text); err != nil {
		return 0, err
	}
	var calls atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	begun := time.Now()
	for range callers {
		all.Go(func() {
			for time.Since(begun) < long {
				if _, err := c.call(text); err != nil {
					failed.Store(&err)
					return
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(calls.Load()) / time.Since(begun).Seconds(), nil
}
