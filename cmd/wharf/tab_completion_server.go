package main

import (
	"context"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// asker asks a server what values an argument may have, and returns none where that fails.
type asker func(mcp.CompleteParams) []string

// answerTimeOfTab is how long a person waits at a Tab for what a server proposes.
const answerTimeOfTab = time.Second

// askSession asks through a session that is open.
func askSession(ctx context.Context, session *host.Session) asker {
	return func(p mcp.CompleteParams) []string {
		ctx, cancel := context.WithTimeout(ctx, answerTimeOfTab)
		defer cancel()
		found, err := session.Complete(ctx, p)
		if err != nil {
			return nil
		}
		return found.Values
	}
}

// mute returns the app of a Tab. It asks no person, and writes nothing: neither to the terminal nor to the
// files of flags.
func (a *app) mute() *app {
	return &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, settings: a.settings}
}

// askServer connects to a server for one question.
func (a *app) askServer(ctx context.Context, server host.Server) asker {
	return func(p mcp.CompleteParams) []string {
		ctx, cancel := context.WithTimeout(ctx, answerTimeOfTab)
		defer cancel()
		c, err := a.mute().dial(ctx, server)
		if err != nil {
			return nil
		}
		defer c.close()
		return askSession(ctx, c.session)(p)
	}
}

// simple matches an expression of a template that is only the name of a variable. In an address its
// value is percent-encoded, and nothing else (RFC 6570, level 1).
var simple = lazyregexp.New(`^[A-Za-z0-9_.]+$`)

// variableAt finds the variable of a template in which an address that is being typed ends:
// its name, the part of its value that is typed, the text before that, and the values of the
// variables before it. found is false if no address of the template begins with what is
// typed.
func variableAt(template, address string) (name, value, before string, settled map[string]string, found bool) {
	settled = make(map[string]string)
	rest := address
	for {
		literal, after, more := strings.Cut(template, "{")
		expression, tail, closed := strings.Cut(after, "}")
		if !more || !closed || !strings.HasPrefix(rest, literal) || !simple.MatchString(expression) {
			return "", "", "", nil, false
		}
		rest = rest[len(literal):]
		next, _, _ := strings.Cut(tail, "{")
		end := -1
		if next != "" {
			end = strings.Index(rest, next)
		}
		typed := rest
		if end >= 0 {
			typed = rest[:end]
		}
		text, err := url.PathUnescape(typed)
		if err != nil || strings.Contains(typed, "/") {
			return "", "", "", nil, false
		}
		if end < 0 {
			return expression, text, strings.TrimSuffix(address, rest), settled, true
		}
		settled[expression], rest, template = text, rest[end:], tail
	}
}

// variables are the names of the variables of a template.
func variables(template string) (names []string) {
	for piece := range strings.SplitSeq(template, "{") {
		if expression, _, closed := strings.Cut(piece, "}"); closed && simple.MatchString(expression) {
			names = append(names, expression)
		}
	}
	return names
}
