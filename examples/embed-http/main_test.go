package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m) }

// request makes one request and returns the status and the body of the answer.
func request(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, exampletest.Server(t)) }()

	at := "http://" + listener.Addr().String()
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/tools", "", 200, `"name":"echo"`},
		{"POST", "/tools/echo", `{"message":"ahoy"}`, 200, `"text":"ahoy"`},
		{"POST", "/tools/fail", `{}`, 200, `"isError":true`},
		{"POST", "/tools/fail", "", 200, `"isError":true`},
		{"POST", "/tools/echo", `{"message":1}`, 400, "message"},
		{"POST", "/tools/echo", `{`, 400, "not the JSON"},
		{"POST", "/tools/exit", `{}`, 502, "status 3"},
		{"POST", "/tools/echo", `{"message":"again"}`, 200, `"text":"again"`}, // by a new process
	} {
		status, body := request(t, test.method, at+test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s %s: %d %q, want %d with %q", test.method, test.path, test.body, status, body, test.status, test.want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
