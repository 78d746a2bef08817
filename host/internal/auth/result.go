package auth

import (
	"context"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// fail ends the flow with the failure that the provider has reported.
func (f *flow) fail(_ context.Context, a *step.Action) (*step.Event, error) {
	return nil, failure(f.config, a.Fail, f.page)
}

// failure returns the error for a failure that a provider reports. page is the address of the page
// that the person was last shown, or "".
func failure(c *Config, a *step.Fail, page string) error {
	e := &Error{Provider: c.Name, Class: a.Class, Message: cleantext.Line(a.Message, 1<<10), Hint: cleantext.Line(a.Hint, 1<<10), URL: page}
	if at, err := pageURL(a.URL, nil); page == "" && err == nil {
		e.URL = at
	}
	switch a.Class {
	case step.FailRetry, step.FailLogin, step.FailConfig:
		return e
	}
	return violationf("it fails with the unknown class %q", cleantext.Line(a.Class, 64))
}

// setCredentials stores the credentials for requests.
func (f *flow) setCredentials(_ context.Context, a *step.Action) (*step.Event, error) {
	c, err := readCredentials(a.Credentials, f.keys)
	f.result.credentials = c
	return nil, err
}

// setMaterial stores the material of a provider, as far as the server entry grants it.
func (f *flow) setMaterial(_ context.Context, a *step.Action) (*step.Event, error) {
	m := &Material{Env: map[string]secret.Secret{}, Blob: secret.New(string(a.Material.Blob))}
	for name, value := range a.Material.Env {
		if !slices.Contains(f.config.Grant.Variables, name) {
			return nil, ungranted(fmt.Sprintf("the variable %q", cleantext.Line(name, 64)), fmt.Sprintf("variables = [%q]", cleantext.Line(name, 64)))
		}
		m.Env[name] = secret.New(value)
	}
	if len(a.Material.Blob) > 0 && !f.config.Grant.Blob {
		return nil, ungranted("a blob for the transport", "blob = true")
	}
	f.result.material = m
	return nil, nil
}
