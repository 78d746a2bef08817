package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// BenchmarkHTTP is a call over HTTP of a server that repeats params: directly, through a proxy that
// reads nothing, and through the gateway, by a client of either era.
func BenchmarkHTTP(b *testing.B) {
	far := httptest.NewServer(http.HandlerFunc(repeatOverHTTP))
	b.Cleanup(far.Close)
	target, _ := url.Parse(far.URL)
	h, err := host.New(b.Context(), host.Config{Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir()})
	if err != nil {
		b.Fatal(err)
	}
	g, err := gateway.New(h, gateway.Config{Servers: []host.Server{
		{Name: legacy, URL: far.URL, Protocol: legacy}, {Name: modern, URL: far.URL, Protocol: modern},
	}})
	if err != nil {
		b.Fatal(err)
	}
	proxy, served := httptest.NewServer(httputil.NewSingleHostReverseProxy(target)), httptest.NewServer(g.Handler())
	b.Cleanup(func() {
		g.Close()
		h.Close()
		proxy.Close()
		served.Close()
	})
	for _, era := range []string{legacy, modern} {
		for _, way := range []struct{ name, url string }{{"direct", far.URL}, {"proxy", proxy.URL}, {"gateway", served.URL + "/mcp/" + era}} {
			for _, size := range []int{100, 10_000, 1_000_000} {
				b.Run(fmt.Sprintf("%s/%d/%s", era, size, way.name), func(b *testing.B) { benchHTTP(b, era, way.url, size) })
			}
		}
	}
}

func benchHTTP(b *testing.B, era, url string, size int) {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {era}}
	post := func(body string) *http.Response {
		r, _ := http.NewRequest("POST", url, strings.NewReader(body))
		r.Header = header
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != 200 || !bytes.Contains(got[:min(len(got), 60)], []byte(`"result":`)) {
			b.Fatalf("%d %.200s", response.StatusCode, got)
		}
		return response
	}
	meta := ""
	if era == legacy {
		header["Mcp-Session-Id"] = post(initialize("0", legacy, `{}`)).Header["Mcp-Session-Id"]
	} else {
		meta = "," + modernMeta(`{}`, "")
		header["Mcp-Method"] = []string{"x/own"}
	}
	text := strings.Repeat("x", size)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x/own","params":{"text":"%s"%s}}`, n, text, meta))
	}
}

// repeatOverHTTP answers each request with its params.
func repeatOverHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, rest, ok := bytes.Cut(body, []byte(`"id":`))
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	id, _, _ := bytes.Cut(rest, []byte(","))
	_, result, _ := bytes.Cut(body, []byte(`"params":`))
	result = bytes.TrimSuffix(result, []byte("}"))
	switch {
	case bytes.Contains(body[:60], []byte("initialize")):
		result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`)
	case bytes.Contains(body[:60], []byte("server/discover")):
		result = []byte(`{"supportedVersions":["2026-07-28"],"capabilities":{}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
