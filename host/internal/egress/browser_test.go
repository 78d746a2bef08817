//go:build unix

package egress

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// argvEnv names a file to which the helper browser adds what it was started
// with.
const argvEnv = "CAPABILITY_TEST_ARGV"

func init() {
	captest.Helpers["browser"] = func() {
		f, err := os.OpenFile(os.Getenv(argvEnv), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		f.WriteString(strings.Join(os.Args[1:], "\x00") + "\n")
	}
}

// fakeOpener opens pages with the helper of that mode, by way of BROWSER. take
// returns what it was started with since.
func fakeOpener(t *testing.T, mode string, words string, env ...string) (o browser, take func() string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "argv")
	o = browser{limit: time.Hour, env: append(env, "BROWSER="+os.Args[0]+words, argvEnv+"="+log, captest.HelperEnv+"="+mode, "GORACE=atexit_sleep_ms=0")}
	return o, func() string {
		said, _ := os.ReadFile(log)
		os.Remove(log)
		return string(said)
	}
}

var hostilePages = []string{
	"", " ", "x", "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd", "file://host/share", "ftp://h/", "vbscript:x", "about:blank",
	"ms-msdt:/id", "search-ms:query=x", "mailto:a@b", "smb://h/share", "\\\\unc\\x", "//unc/x", "/etc/passwd", "C:\\Windows\\System32\\calc.exe", "C:/x",
	"-a Calculator", "--help", "-https://h/", "http://h/", "http://x/$(calc)", "https://x/$(calc)", "https://x/`calc`", "https://x/${IFS}", "https://x/$HOME", "a:$(echo)",
	"https://x/'y", "https://x/\"y", "https://x/a b", "https://x/a\tb", "https://x/a\nb", "https://x/\r\nX: y", "https://x/\x00", "https://x/\x1b[31m", "https://x/\x7f", "\x00https://x/",
	"https://x/|calc", "https://x/<y>", "https://x/^y", "https://x/{y}", "https://x/\\y", "https://x\\@y/", "https://u@x/", "https://u:p@x/", "https://@x/",
	"https:x", "https:/x", "https://", "https:///x", "https://x/%", "https://x/?%PATH%", "https://x/?a=%0", "https://x/?%COMSPEC%", "https://x/%00", "https://x/?a=%0d%0aX:y", "https://x/#%1b",
	"https://x/\u202egnp.exe", "https://\u0430pple.com/", "https://x/\xff", "https://x:99999/", "https://x:0/", "https://x:a/", "https://127.1/", "https://0x7f.1/", "http://127.1/", "http://127.0.0.1.evil.example/", "http://localhost.evil.example/",
	"http://[::ffff:127.0.0.1]/", "https://[::1%25lo]/", "https://[::1", "https://x y/", "https://x./", "https://" + strings.Repeat("x", 10<<10), "https://x/?" + strings.Repeat("x", 8<<10), " https://x/", "https://x/ ",
}

func TestHostilePages(t *testing.T) {
	if len(hostilePages) < 40 {
		t.Fatalf("%d URLs are too few", len(hostilePages))
	}
	o, take := fakeOpener(t, "browser", "")
	for _, s := range hostilePages {
		var broken *RuleError
		if safe, err := CheckBrowserURL(s); !errors.As(err, &broken) || safe != "" {
			t.Errorf("%q passes as %q: %v", s, safe, err)
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q: the error itself is not fit to be shown: %q", s, err)
		}
		if err := o.open(t.Context(), s); !errors.As(err, &broken) {
			t.Errorf("%q: %v", s, err)
		}
	}
	if said := take(); said != "" {
		t.Errorf("a program was started with %q", said)
	}
}

var goodPages = map[string]string{
	"https://as.example/authorize?response_type=code&client_id=a%3Ab&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&state=A-_~.": "",
	"HTTPS://AS.Example:8443/Auth":                    "https://as.example:8443/Auth",
	"https://as.example":                              "",
	"http://127.0.0.1:9000/a":                         "",
	"http://localhost/a?b=(c);d*e":                    "",
	"http://[::1]:80/":                                "",
	"https://as.example/#/device?code=AB-CD":          "",
	"https://as.example/a%20b/%E2%82%AC?x=%24%28y%29": "",
}

func TestOpenBrowser(t *testing.T) {
	for _, words := range []string{"", " --new-window", " --new-window %s --fast"} {
		o, take := fakeOpener(t, "browser", words)
		for s, want := range goodPages {
			if want == "" {
				want = s
			}
			if err := o.open(t.Context(), s); err != nil {
				t.Error(err)
			}
			argv := strings.TrimSpace(strings.ReplaceAll(words, " ", "\x00"))
			argv = strings.TrimPrefix(argv, "\x00")
			switch {
			case argv == "":
				argv = want
			case strings.Contains(argv, "%s"):
				argv = strings.ReplaceAll(argv, "%s", want)
			default:
				argv += "\x00" + want
			}
			if said := take(); said != argv+"\n" {
				t.Errorf("with %q, the program was started with %q, want %q", words, said, argv)
			}
		}
	}
}

func TestWhichProgramOpensThePage(t *testing.T) {
	const page = "https://as.example/"
	o, take := fakeOpener(t, "browser", "")
	self, env := os.Args[0], o.env
	spaced := filepath.Join(t.TempDir(), "My Browser")
	if err := os.Symlink(self, spaced); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(self))
	for _, list := range []string{self, "nowhere-to-be-found:" + self, "/nowhere %s:" + self + ":other", spaced, "::" + self} {
		o.env = append([]string{"BROWSER=" + list}, env[1:]...)
		if err := o.open(t.Context(), page); err != nil || take() != page+"\n" {
			t.Errorf("BROWSER=%s: %v", list, err)
		}
	}
	for _, list := range []string{"nowhere", "./" + filepath.Base(self), filepath.Base(self), ":", "/nowhere"} {
		o.env = append([]string{"BROWSER=" + list}, env[1:]...)
		o.system = [][]string{{self}}
		if err := o.open(t.Context(), page); err == nil || !strings.Contains(err.Error(), "BROWSER is") || take() != "" {
			t.Errorf("BROWSER=%s: %v", list, err)
		}
	}
	o.env, o.system = env[1:], [][]string{{"nowhere"}, {self, "first"}}
	if err := o.open(t.Context(), page); err != nil || take() != "first\x00"+page+"\n" {
		t.Errorf("without BROWSER: %v", err)
	}
	o.system = [][]string{{"nowhere"}}
	if err := o.open(t.Context(), page); err == nil || !strings.Contains(err.Error(), "set BROWSER to a program that can") {
		t.Errorf("without anything: %v", err)
	}
	for _, words := range systemBrowsers() {
		if filepath.Base(words[0]) != words[0] && !filepath.IsAbs(words[0]) {
			t.Errorf("%q depends on the folder", words)
		}
	}
}

func TestABrowserThatCannot(t *testing.T) {
	o, _ := fakeOpener(t, "crash", "")
	if err := o.open(t.Context(), "https://as.example/?secret"); err == nil || !strings.Contains(err.Error(), "exit status 3") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, take := fakeOpener(t, "browser", "")
	if err := o.open(ctx, "https://as.example/"); !errors.Is(err, context.Canceled) || take() != "" {
		t.Errorf("too late: %v", err)
	}
}

// The program may be the browser, and stay. It is not waited for.
func TestABrowserThatStays(t *testing.T) {
	leash := captest.NewLeash(t)
	o, _ := fakeOpener(t, "deaf", "", leash.Env())
	o.env = append([]string{"BROWSER=" + os.Args[0]}, o.env...)
	o.limit = time.Millisecond
	if err := o.open(t.Context(), "https://as.example/"); err != nil {
		t.Error(err)
	}
	leash.Catch() // it runs, and ends with the test
	o.limit = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error)
	go func() { opened <- o.open(ctx, "https://as.example/") }()
	leash.Catch()
	cancel()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func FuzzCheckBrowserURL(f *testing.F) {
	for _, s := range hostilePages {
		f.Add(s)
	}
	for s := range goodPages {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		safe, err := CheckBrowserURL(s)
		if err != nil {
			return
		}
		if again, err := CheckBrowserURL(safe); err != nil || again != safe {
			t.Errorf("%q reads as %q, and that as %q, %v", s, safe, again, err)
		}
		if strings.ContainsFunc(safe, isUnsafe) || len(safe) > httpclient.MaxURL {
			t.Errorf("%q reads as %q", s, safe)
		}
		if !strings.HasPrefix(safe, "https://") && !strings.HasPrefix(safe, "http://127.") && !strings.HasPrefix(safe, "http://[") && !strings.Contains(safe, "localhost") {
			t.Errorf("%q reads as %q", s, safe)
		}
	})
}
