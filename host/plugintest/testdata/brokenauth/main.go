// Command brokenauth is an auth provider that signs in as it should, except for the one
// mistake that its setting names.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

func init() {
	auth.Register(auth.Manifest{
		Name: "broken-auth", Version: "1.0.0", About: "for tests",
		Settings: []auth.Setting{
			{Key: "fault", About: "the mistake"},
			{Key: "secret", About: "the secret", Required: true, Secret: true},
		},
		Wants: auth.Wants{Origins: []string{"https://sso.example"}, Prompt: true},
	}, provider{})
}

func main() {}

type provider struct{}

// flow is one flow.
type flow struct {
	*auth.Flow
	fault, secret string
	saved         token
	found         bool
}

type token struct {
	Text    string
	Expires int64
}

var record = auth.RecordKey{Name: "token"}

// calls counts the flows of this instance. A provider that reads it remembers what it must not.
var calls int

func (provider) SignIn(f *auth.Flow) error {
	calls++
	var s struct{ Fault, Secret string }
	if err := f.Settings(&s); err != nil {
		return err
	}
	c := &flow{Flow: f, fault: s.Fault, secret: s.Secret}
	if s.Secret == "" {
		return auth.Misconfigured("there is no secret", "")
	}
	return c.signIn()
}

func (c *flow) is(fault string) bool { return c.fault == fault }

func (c *flow) signIn() (err error) {
	start := c.Start()
	if c.found, err = c.Load(record, &c.saved); err != nil {
		return c.failure(err)
	}
	switch start.Reason {
	case "initial":
		if c.is("asks-early") {
			c.Prompt(auth.Prompt{Label: "who are you?"})
		}
		if !c.found {
			return nil
		}
	case "logout":
		if c.is("logout-gives") {
			c.give(token{Text: "still"})
		}
		return c.Forget(record)
	case "expired", "challenged", "upscope", "login":
	default:
		if c.is("panics") {
			panic(start.Reason)
		}
		return &auth.Failure{Class: "config", Message: "unknown reason"}
	}
	return c.renew()
}

// renew gives the saved token if it is valid, and otherwise gets another.
func (c *flow) renew() error {
	start := c.Start()
	now := c.Now().UnixMilli()
	switch {
	case c.is("fails"):
		return auth.Misconfigured("it is closed", "")
	case c.is("tells"):
		return auth.Misconfigured("the secret is "+c.secret, "")
	case c.is("wants-more"):
		c.Run()
	case c.is("stale") && c.found && start.Reason == "expired", c.is("same-again") && c.found && start.Challenge != nil:
		c.give(c.saved)
		return nil
	case c.found && c.saved.Expires > now && start.Challenge == nil && start.Reason != "login":
		c.give(c.saved)
		return nil
	case !c.found && start.Interactive:
		return c.ask()
	case !c.found && c.is("hopes"):
		return &auth.Failure{Class: "retry", Message: "later, perhaps"}
	case !c.found && !c.is("asks-without-a-person"):
		return auth.NeedsLogin("a person has to sign in", "")
	case !c.found:
		return c.ask()
	}
	return c.fetch("renew")
}

func (c *flow) ask() error {
	for range 5 {
		code, err := c.Prompt(auth.Prompt{Label: "code"})
		if err == nil {
			return c.fetch(code)
		}
		if !c.is("nags") {
			return c.failure(err)
		}
	}
	return auth.NeedsLogin("the person declined", "")
}

// fetch gets a token.
func (c *flow) fetch(code string) error {
	url := "https://sso.example/token"
	switch c.fault {
	case "elsewhere":
		url = "https://elsewhere.example/token"
	case "random":
		code += rand.Text()
	case "remembers":
		code += strconv.Itoa(calls)
	case "spins":
		spend(60_000_000)
	}
	answer, err := c.HTTP(auth.HTTP{Method: "POST", URL: url, Body: code})
	if err != nil {
		return c.failure(err)
	}
	if c.is("explodes") && len(answer.Body) > 100_000 {
		panic("too long")
	}
	var said struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	wrong := json.Unmarshal([]byte(answer.Body), &said)
	switch {
	case answer.Status != 200 && c.is("no-login"):
		return auth.NeedsLogin("the server has errors", "")
	case answer.Status != 200:
		return &auth.Failure{Class: "retry", Message: "the server has errors"}
	case c.is("believes"):
		said.Token, said.Seconds = "what it was", 60
	case wrong != nil || said.Token == "":
		return &auth.Failure{Class: "retry", Message: "the server makes no sense"}
	}
	got := token{said.Token, c.Now().UnixMilli() + said.Seconds*1000}
	if err := c.Store(record, got); err != nil {
		return c.failure(err)
	}
	c.give(got)
	return nil
}

func (c *flow) give(t token) {
	c.Credentials(auth.Credentials{Scheme: "Bearer", Token: t.Text, ExpiresAt: t.Expires})
}

// failure is the error of a flow in which something could not be done.
func (c *flow) failure(err error) error {
	var p *auth.Problem
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case c.is("forgets") && p.Code == "network":
		c.Forget(record)
	case c.is("waits") && p.Code == "unavailable":
		for {
			c.Wait(time.Minute)
		}
	}
	if slices.Contains([]string{"cancelled", "timeout"}, p.Code) {
		return auth.NeedsLogin("the person declined", "")
	}
	return &auth.Failure{Class: "retry", Message: p.Text}
}

//go:noinline
func spend(n int) (sum int) {
	for i := range n {
		sum ^= i * sum
	}
	return sum
}
