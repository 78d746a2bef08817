package egress

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
)

// openTime is how long OpenBrowser waits for the error of a program that opens browsers. Most such
// programs end at once; some stay as long as the browser does.
const openTime = 2 * time.Second

// OpenBrowser shows a page in the person's browser. It must not be called without a terminal: the
// caller has to know that a person could look at the page.
//
// The URL comes from a server, and goes through programs that were written for what people
// type. So only what [CheckBrowserURL] returns is passed on, as one argument, to a program
// that is started as it is and never by a shell: the first one of the variable BROWSER that
// exists or, without that variable, the first one of the system's. It gets the environment of
// this process and outlives it.
//
// OpenBrowser returns when that program has ended, when it has run for two seconds, or when ctx
// ends. It does not wait for the browser. The error says what to do.
func OpenBrowser(ctx context.Context, target string) error {
	o := browser{system: systemBrowsers(), env: os.Environ(), limit: openTime}
	return o.open(ctx, target)
}

// browser opens browsers.
type browser struct {
	system [][]string // programs with their first arguments; the first program that exists is used
	env    []string
	limit  time.Duration
}

func (o browser) open(ctx context.Context, target string) error {
	target, err := CheckBrowserURL(target)
	if err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	programs, none := o.system, "this system has nothing to do it with; set BROWSER to a program that can, or open the page by its address"
	if list := process.LookupEnv(o.env, "BROWSER"); list != "" {
		programs, none = nil, fmt.Sprintf("BROWSER is %q, and nothing of it is a program that is there", cleantext.Line(list, 200))
		for _, entry := range filepath.SplitList(list) {
			programs = append(programs, []string{entry}, strings.Fields(entry)) // a path may contain spaces
		}
	}
	var argv []string
	for i := 0; i < len(programs) && argv == nil; i++ {
		argv = process.CommandLine(programs[i], target, o.env)
	}
	switch {
	case argv == nil:
		return fmt.Errorf("open the browser: %s", none)
	case ctx.Err() != nil:
		return fmt.Errorf("open the browser: %w", context.Cause(ctx))
	}
	if err := process.Launch(ctx, argv, o.env, o.limit); err != nil {
		return fmt.Errorf("open the browser: %s: %w; set BROWSER to a program that can, or open the page by its address", argv[0], err)
	}
	return nil
}

// CheckBrowserURL returns the URL of a page that may be shown to a person, in the form that may be
// passed on. It is https, or http on this machine. It holds nothing that a shell, a terminal or a
// program in between could interpret, and does not change when it is parsed and written again.
func CheckBrowserURL(target string) (string, error) {
	if at := strings.IndexFunc(target, isUnsafe); at >= 0 {
		return "", ruleErrorf("the URL of the page holds %q, which has to be encoded there", []rune(target[at:])[0])
	}
	u, err := webURL("the URL of the page", target)
	if err != nil {
		return "", err
	}
	safe := u.String()
	// A program in between may decode %XX: control characters are not allowed in a URL, and any
	// other percent sign begins a variable in cmd.exe.
	for _, rest, more := strings.Cut(safe, "%"); more; _, rest, more = strings.Cut(rest, "%") {
		c, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8)
		switch {
		case err != nil || len(rest) < 2:
			return "", ruleErrorf("the URL of the page holds a %% that encodes nothing")
		case c < ' ' || c == 0x7f:
			return "", ruleErrorf("the URL of the page holds a control character, %%%02X", c)
		}
	}
	if again, err := url.Parse(safe); err != nil || again.String() != safe || strings.ContainsFunc(safe, isUnsafe) || len(safe) > httpclient.MaxURL {
		return "", ruleErrorf("the URL of the page does not read the same twice")
	}
	return safe, nil
}

// isUnsafe reports whether r is not allowed unescaped in a URL (RFC 3986, appendix A), or has a
// meaning for a shell, quoted or not.
func isUnsafe(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'`$<>\\^{|}", r)
}
