package registry

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/internal/registrytest"
)

var examples = filepath.Join("..", "..", "internal", "registrytest", "testdata", "servers")

// at returns a client of the registry of a folder; lie is what it does wrong, or "".
func at(t *testing.T, dir, lie string) *Client {
	t.Helper()
	site := httptest.NewServer(registrytest.Handler(dir))
	t.Cleanup(site.Close)
	if lie != "" {
		site.URL += "/lie/" + lie
	}
	c, err := New(site.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSearch(t *testing.T) {
	c := at(t, examples, "")
	for words, want := range map[string]string{
		"WEATHER":           "io.example/hostile-weather io.example/old-weather io.example/weather",
		"weather yesterday": "io.example/old-weather",
		"none":              "",
	} {
		found, err := c.Search(t.Context(), strings.Fields(words), 10)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range found.Servers {
			names = append(names, l.Server.Name)
		}
		if got := strings.Join(names, " "); got != want || found.More {
			t.Errorf("%s: %s, more %t", words, got, found.More)
		}
	}
	found, err := c.Search(t.Context(), []string{"weather"}, 2)
	if err != nil || len(found.Servers) != 2 || !found.More || found.Servers[1].Status != Deprecated {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := c.Search(t.Context(), []string{"ab"}, 2); !errors.Is(err, hosterr.ErrConfig) || !strings.Contains(hosterr.Hint(err), "three letters") {
		t.Errorf("%v", err)
	}
}

// Pages are followed by their cursors to the end.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	for i := range 250 {
		name := "s" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		text := `{"name": "io.example/` + name + `", "description": "d", "version": "1.0.0"}`
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := at(t, dir, "").Search(t.Context(), []string{"example"}, 1000)
	if err != nil || len(found.Servers) != 250 || found.More || found.Servers[249].Server.Name != "io.example/sjp" {
		t.Errorf("%d servers, %v", len(found.Servers), err)
	}
}

func TestVersion(t *testing.T) {
	c := at(t, examples, "")
	latest, err := c.Version(t.Context(), "io.example/weather", "latest")
	if err != nil || latest.Server.Version != "1.1.0" || !latest.IsLatest || latest.Status != Active || len(latest.SHA256) != 64 {
		t.Fatalf("%+v, %v", latest, err)
	}
	first, err := c.Version(t.Context(), "io.example/weather", "1.0.0")
	if err != nil || first.Server.Version != "1.0.0" || first.IsLatest || first.SHA256 == latest.SHA256 {
		t.Errorf("%+v, %v", first, err)
	}
	if _, err := c.Version(t.Context(), "io.example/weather", "3.0.0"); hosterr.Hint(err) != "it has 1.1.0, 1.0.0" {
		t.Errorf("%v: %s", err, hosterr.Hint(err))
	}
	gone, err := c.Version(t.Context(), "io.example/gone-weather", "latest")
	if err != nil || gone.Status != Deleted {
		t.Errorf("%+v, %v", gone, err)
	}
	for _, wrong := range [][2]string{{"io.example/none", "latest"}, {"io.example/weather", "3.0.0"}, {"weather", "latest"}, {"../../x", "latest"}} {
		if _, err := c.Version(t.Context(), wrong[0], wrong[1]); !errors.Is(err, hosterr.ErrConfig) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// A registry that lies is told of in a sentence; it neither holds wharf up nor fills it.
func TestLies(t *testing.T) {
	for lie, says := range map[string]string{
		"circle":   "does not end",
		"huge":     "longer than 8388608 bytes",
		"cursor":   "does not end",
		"html":     "is not what a registry answers",
		"broken":   "HTTP 500: Failed to get server list",
		"closed":   "wants a sign-in",
		"redirect": "HTTP 302",
		"deep":     "is not what a registry answers",
		"none":     "there is no registry at",
	} {
		_, err := at(t, examples, lie).Search(t.Context(), []string{"weather"}, 10)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want one that says %q", lie, err, says)
		}
	}
	found, err := at(t, examples, "nameless").Search(t.Context(), nil, 10)
	if err != nil || len(found.Servers) != 0 || found.Skipped != 4 {
		t.Errorf("%+v, %v", found, err)
	}
	found, err = at(t, examples, "endless").Search(t.Context(), []string{"nothing of this name"}, 10)
	if err != nil || len(found.Servers) != 0 || !found.More {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := at(t, examples, "other").Version(t.Context(), "io.example/weather", "latest"); !errors.Is(err, hosterr.ErrProtocol) {
		t.Errorf("%v", err)
	}
}

// TestToken has a registry want a sign-in: it is shown the token of its host, which is looked
// up once, and only then.
func TestToken(t *testing.T) {
	site := httptest.NewServer(registrytest.Handler(examples))
	t.Cleanup(site.Close)
	for secret, want := range map[string]string{registrytest.Token: "", "": "wants a sign-in", "stale": "wants a sign-in", "a\nb": "header"} {
		var asked []string
		ask := func(_ context.Context, name string) (string, error) {
			asked = append(asked, name)
			return secret, nil
		}
		name := "registry:" + strings.TrimPrefix(site.URL, "http://")
		c, err := New(site.URL+"/lie/closed", ask)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		for range 2 {
			found, err := c.Search(t.Context(), nil, 10)
			if want == "" && (err != nil || len(found.Servers) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: %+v, %v", secret, found, err)
			}
			if want == "wants a sign-in" && !strings.Contains(hosterr.Hint(err), "`wharf auth secret "+name+"`") {
				t.Errorf("%q: hint %q", secret, hosterr.Hint(err))
			}
		}
		if asked[0] != name || secret != "" && len(asked) != 1 {
			t.Errorf("%q: looked up %q", secret, asked)
		}
		open, err := New(site.URL, ask)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(open.Close)
		before := len(asked)
		if _, err := open.Search(t.Context(), []string{"weather"}, 10); err != nil || len(asked) != before {
			t.Errorf("an open registry: %v, looked up %q", err, asked)
		}
	}
}

func TestSilence(t *testing.T) {
	release := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer site.Close()
	defer close(release)
	c, err := New(site.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Search(ctx, []string{"weather"}, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, err := c.Version(ctx, "a/b", "latest"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	c.Timeout = time.Millisecond
	_, err = c.Search(t.Context(), []string{"weather"}, 1)
	if !errors.Is(err, hosterr.ErrTimeout) || err.Error() != "the registry at "+site.URL+": no answer within 1ms" {
		t.Errorf("%v", err)
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://registry.example": true, "https://registry.example/mcp/v0.1/": true, "http://127.0.0.1:8080": true,
		"http://registry.example": false, "registry.example": false, "https://u:p@registry.example": false, "https://registry.example?x=1": false, "": false,
	} {
		c, err := New(address, nil)
		if (err == nil) != ok || err != nil && !errors.Is(err, hosterr.ErrConfig) {
			t.Errorf("%q: %v", address, err)
		}
		if err == nil {
			if strings.HasSuffix(c.Address(), "/") || strings.HasSuffix(c.Address(), "v0.1") {
				t.Error(c.Address())
			}
			c.Close()
		}
	}
}
