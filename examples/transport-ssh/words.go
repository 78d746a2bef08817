package main

import (
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// complaint is a message of ssh when it gives up. OpenSSH has not changed these messages in
// many years, and translates none of them.
type complaint struct {
	says   string // what a line has in it
	status abi.Status
	text   string // for people; NAME is what the line names
	name   func(line string) string
}

// complaints are searched in this order: an earlier one tells more than a later one, and
// both may stand in the same output.
var complaints = []complaint{
	{"Host key for ", abi.Unauthorized,
		"the host key of NAME has changed: another machine may be answering in its place; if you know of a new key, remove the old one: ssh-keygen -R NAME",
		between("Host key for ", " has changed")},
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", abi.Unauthorized,
		"the host key has changed: another machine may be answering in its place; if you know of a new key, remove the old one with ssh-keygen -R", nil},
	{"Host key verification failed", abi.Unauthorized,
		"the host key is not known; connect once by hand with ssh, and compare its fingerprint", nil},
	{"Permission denied", abi.Unauthorized,
		"the host refused the sign-in (permission denied: NAME); ssh asks for nothing here, so it needs a key without a passphrase or one in ssh-agent",
		between("(", ")")},
	{"Too many authentication failures", abi.Unauthorized,
		"the host refused the sign-in after too many keys; name one with -i and add -o IdentitiesOnly=yes", nil},
	{"subsystem request failed", abi.NotFound,
		`the host has no such subsystem; its sshd_config needs a line "Subsystem X program", where X is the last of the args of the entry`, nil},
	{"Could not resolve hostname ", abi.NotFound,
		"the host NAME was not found; look at the args of the entry", between("hostname ", ":")},
	{"Bad configuration option", abi.Malformed, "ssh does not know an option; look at the args of the entry", nil},
	{"unknown option", abi.Malformed, "ssh does not know an option; look at the args of the entry", nil},
	{"usage: ssh", abi.Malformed, `ssh does not understand its arguments; expected args = ["-o", "BatchMode=yes", "-s", "host", "mcp"]`, nil},
	{"Connection refused", abi.Unreachable, "nothing listens there: is sshd running, and is this its port?", nil},
	{"timed out", abi.TimedOut, "the host does not answer", nil},
	{"No route to host", abi.Unreachable, "there is no way to the host", nil},
	{"Network is unreachable", abi.Unreachable, "there is no way to the host", nil},
	{"Unable to negotiate", abi.ProtocolFailed, "the host and this ssh have no algorithm in common", nil},
	{"Connection closed by ", abi.Reset, "the host closed the connection before the sign-in was over", nil},
	{"Connection reset", abi.Reset, "the host closed the connection before the sign-in was over", nil},
}

// explain returns the error for an ssh that gave up before it reached the server. said has
// its last lines. The error does not quote them: the host adds them to every error of a
// process that is gone.
func explain(said string) error {
	for _, c := range complaints {
		if line := lineWith(said, c.says); line != "" {
			return sdk.Fail(c.status, "ssh: "+c.about(line))
		}
	}
	return sdk.Fail(abi.Unreachable, "ssh could not reach the server (exit code 255)")
}

// about returns the text of the complaint, with the name from the line.
func (c complaint) about(line string) string {
	name := "HOST"
	if c.name != nil {
		name = c.name(line)
	}
	return strings.ReplaceAll(c.text, "NAME", name)
}

// lineWith returns the last line that has a text in it, or "".
func lineWith(said, text string) string {
	at := strings.LastIndex(said, text)
	if at < 0 {
		return ""
	}
	line := said[strings.LastIndexByte(said[:at], '\n')+1:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	return strings.TrimRight(line, "\r")
}

// between returns a function that finds the name between two texts of a line. The name stands
// in a command that a person is shown. If there is none, or it has characters that are not fit
// for a command, the function returns HOST.
func between(before, after string) func(string) string {
	return func(line string) string {
		_, rest, _ := strings.Cut(line, before)
		name, _, found := strings.Cut(rest, after)
		if !found || name == "" || len(name) > nameCap || name[0] == '-' || strings.Trim(name, nameChars) != "" {
			return "HOST"
		}
		if strings.HasPrefix(name, "[") {
			return `"` + name + `"` // a shell would take it for a pattern
		}
		return name
	}
}

const nameCap = 255 // a host's has no more

const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%,"
