package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// helper runs the command whenever credentials are wanted. It saves nothing: the
// command itself keeps anything that has to outlive the process.
type helper struct{}

func (helper) SignIn(f *auth.Flow) error {
	start := f.Start()
	if start.Reason == step.ReasonLogout {
		return auth.Misconfigured("the command of "+start.Server.Name+" signs in each time: there is nothing to sign out of",
			"remove the auth of "+start.Server.Name+", or sign out with what the command is part of")
	}
	result, err := f.Run()
	if err != nil {
		return unrun(start.Server.Name, err)
	}
	if result.Code != 0 {
		return exited(start.Server.Name, result)
	}
	output, err := parse(result.Stdout, f.Now())
	if err != nil {
		return auth.Misconfigured("the command of "+start.Server.Name+" printed "+err.Error(), expected)
	}
	if !output.expires.IsZero() && !output.expires.After(f.Now()) {
		return &auth.Failure{Class: step.FailRetry,
			Message: fmt.Sprintf("the command of %s printed credentials that expired at %s", start.Server.Name, output.expires.UTC().Format(time.RFC3339)),
			Hint:    "see whether the command keeps what it should renew, and whether the clock is right"}
	}
	if output.wasRefused(start.Challenge) {
		return auth.Misconfigured("the server "+start.Server.Name+" does not take what the command printed, and it printed the same again",
			"see whether the command still has a login that is valid")
	}
	f.Credentials(output.credentials())
	return nil
}

// expected is the hint for output that cannot be used.
const expected = `it shall print {"headers": {"Authorization": "Bearer …"}, "expires_in": 3600} and nothing else on stdout`

// unrun returns the error for a command that did not run to its end.
func unrun(server string, err error) error {
	var problem *auth.Problem
	if !errors.As(err, &problem) {
		return err
	}
	message := "the command of " + server + ": " + problem.Text
	switch problem.Code {
	case step.ProblemUnavailable, step.ProblemRefused:
		return auth.Misconfigured(message, `write auth = { provider = "helper", command = ["program", "argument"] } with a program that can be found`)
	}
	return &auth.Failure{Class: step.FailRetry, Message: message}
}

// exited returns an error with the last line of the command's stderr. The command may only
// lack a network, which looks no different, so the error allows another try.
func exited(server string, r *auth.RunResult) error {
	message := fmt.Sprintf("the command of %s ended with exit code %d", server, r.Code)
	if last := legible(r.Stderr); last != "" {
		message += ": " + last
	}
	return &auth.Failure{Class: step.FailRetry, Message: message, Hint: "run the command by hand to see what it needs"}
}

// maxLast is how much of the last line is repeated, in bytes.
const maxLast = 300

// legible returns the last line that is not blank, without characters that could move a cursor.
func legible(stderr string) string {
	stderr = strings.TrimRight(stderr, " \t\r\n")
	line := stderr[strings.LastIndexByte(stderr, '\n')+1:]
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, line))
	if len(line) > maxLast {
		line = strings.ToValidUTF8(line[:maxLast], "") + "…"
	}
	return line
}
