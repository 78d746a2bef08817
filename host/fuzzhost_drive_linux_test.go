//go:build !race

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// Times of a job, after which the host gives up. Nothing is asserted of them.
const (
	jobTimeout  = 20 * time.Millisecond // of a request
	jobStart    = 100 * time.Millisecond
	stepTimeout = 3 * jobTimeout
	jobCap      = 1 << 20 // bytes of a message
	stepsAtMost = 24
)

// followJob makes a host, connects, takes the steps and closes the host.
func followJob(ctx context.Context, job *hostJob) (report hostReport) {
	dir, err := os.MkdirTemp("", "fuzzhost")
	if err != nil {
		return hostReport{Fail: err.Error()}
	}
	defer os.RemoveAll(dir)
	c, entry, err := job.config(dir)
	if err != nil {
		return hostReport{Fail: err.Error()}
	}
	h, err := host.New(ctx, c)
	if err != nil {
		return hostReport{Fail: err.Error()}
	}
	s, err := h.Connect(ctx, entry)
	report.Ends = append(report.Ends, nameEnd(err))
	if err == nil {
		steps := &choices{data: job.Steps[:min(len(job.Steps), stepsAtMost)]}
		for !steps.done() {
			report.Ends = append(report.Ends, nameEnd(takeStep(ctx, h, s, entry, steps)))
		}
	}
	if err := h.Close(); err != nil {
		report.Ends = append(report.Ends, nameEnd(err))
	}
	return report
}

func (job *hostJob) config(dir string) (c host.Config, entry host.Server, err error) {
	c = jobConfig()
	entry = host.Server{Name: "fuzzed", URL: job.URL, Address: job.Address, Protocol: job.Protocol, MessageCap: jobCap, Resend: true}
	entry.Auth.Provider = config.AuthNone
	if job.URL != "" {
		return c, entry, nil
	}
	entry.Transport = "pigeon"
	file := socketFile
	if job.Module != nil {
		c.CacheDir = "" // each module is another
		file = filepath.Join(dir, "pigeon.wasm")
		err = os.WriteFile(file, job.Module, 0o600)
	}
	p := config.Plugin{Name: "pigeon", File: file}
	if job.Apart {
		self, _ := os.Executable()
		p.Isolation = config.IsolationProcess
		c.Worker = []string{"/usr/bin/env", serverVariable + "=worker", self}
	}
	c.Files = map[string]config.Plugin{"pigeon": p}
	return c, entry, err
}

// jobConfig is a host that offers all there is, and answers at once.
func jobConfig() host.Config {
	c := host.Config{
		Plugins: plugins.Builtin(), Timeout: jobTimeout, MaxTimeout: 2 * jobTimeout, StartTimeout: jobStart, Reconnect: onDemand, OneShot: true,
		Event: func(host.Event) {}, Client: host.Client{
			Elicit: func(_ context.Context, _ string, e mcp.Elicitation) (mcp.ElicitResult, error) {
				return mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "n": 1}}, nil
			},
			Sample: func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`), nil
			},
			Roots: func(context.Context, string) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil },
		},
	}
	c.CacheDir = testenv.CodeDir()
	return c
}

// takeStep makes one call of the program.
func takeStep(ctx context.Context, h *host.Host, s *host.Session, entry host.Server, steps *choices) (err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout) // a task has no timeout of its own
	defer cancel()
	switch steps.next(18) {
	case 0, 1:
		_, err = s.CallTool(ctx, "echo", map[string]any{"message": "hello", "n": 7})
	case 2:
		_, err = s.ListTools(ctx)
	case 3:
		_, err = s.ListPrompts(ctx)
	case 4:
		_, err = s.ListResources(ctx)
	case 5:
		_, err = s.ListResourceTemplates(ctx)
	case 6:
		_, err = s.ReadResource(ctx, "file:///a")
	case 7:
		_, err = s.GetPrompt(ctx, "p", map[string]string{"a": "b"})
	case 8:
		_, err = s.Complete(ctx, mcp.CompleteParams{})
	case 9:
		err = subscribe(ctx, s)
	case 10:
		err = s.SetLevel(ctx, mcp.LevelInfo)
	case 11:
		_, err = s.ListTasks(ctx)
	case 12:
		_, err = s.FinishTask(ctx, "1")
	case 13:
		err = errors.Join(h.RootsChanged(ctx), s.Ping(ctx))
	case 14: // a caller that leaves
		left, leave := context.WithCancel(ctx)
		go leave()
		_, err = s.CallTool(left, "echo", map[string]any{"message": "x"})
	case 15:
		entry.MessageCap /= 2
		err = s.Reload(entry)
	case 16:
		err = s.Call(ctx, "no/such", map[string]any{"a": 1}, nil)
	case 17:
		s.Disable()
		s.Enable()
	}
	return err
}

func subscribe(ctx context.Context, s *host.Session) error {
	sub, err := s.Subscribe(ctx, mcp.Filter{Tools: true, Prompts: true, Resources: true, URIs: []string{"file:///a"}})
	if err != nil {
		return err
	}
	sub.Close()
	return nil
}

// ends are what an end of a call is called, the closest first.
var ends = []struct {
	name string
	kind error
}{
	{"not sent", host.ErrNotSent}, {"timed out", host.ErrTimeout}, {"configuration", host.ErrConfig}, {"sign-in", host.ErrAuthRequired},
	{"refused", host.ErrPluginRefused}, {"protocol", host.ErrProtocol}, {"unreachable", host.ErrUnreachable}, {"closed", host.ErrClosed},
}

func nameEnd(err error) string {
	if err == nil {
		return "done"
	}
	var broken *host.PluginError
	if errors.As(err, &broken) {
		return "plugin"
	}
	for _, e := range ends {
		if errors.Is(err, e.kind) {
			return e.name
		}
	}
	return fmt.Sprintf("%T", err)
}
