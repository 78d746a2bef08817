package plugintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// checker adds the results of checks to a report. The kits for transports, auth providers and
// policies have one each.
type checker struct {
	ctx       context.Context
	options   Options // with a name and a profile
	binary    []byte
	compiler  compiler
	report    *Report
	stops     int   // how often the guest used up its budget
	optionErr error // options that do not fit the plugin
}

// compiler loads and compiles modules, as [worker.Compiler] does. If it returns a transport
// without an engine, the caller shares that transport with others, and it outlives the kit.
type compiler interface {
	Module(ctx context.Context, name string, binary []byte, c wasm.Config) (*wasm.Engine, *wasm.Module, error)
	Provider(ctx context.Context, e *auth.Engine, fuel int64, name string, binary []byte) (*auth.Plugin, error)
	Policy(ctx context.Context, e *policyplugin.Engine, fuel int64, name string, binary []byte) (*policyplugin.Plugin, error)
}

// newChecker returns a checker for a module, with a compiler that may have compiled the
// module before.
func newChecker(ctx context.Context, compiler compiler, module []byte, o Options) checker {
	o.Name = cmp.Or(o.Name, "plugin")
	o.Profile = cmp.Or(o.Profile, &Profile{})
	return checker{ctx: ctx, options: o, binary: module, compiler: compiler, report: newReport(module)}
}

func (k *checker) wanted(id string) bool {
	return len(k.options.Only) == 0 || slices.Contains(k.options.Only, id)
}

// judge adds a check to the report. The check has failed if err is not nil. If c.Got has a text
// already, it is a note on how the scenario was played. run is the run that err is about, or nil.
func (k *checker) judge(c *Check, err error, run interface{ trace() string }) {
	if err == nil {
		if k.wanted(c.ID) {
			k.report.add(c, Passed, c.Got)
		}
		return
	}
	if run != nil {
		c.Trace = run.trace()
	}
	var trap *wasm.Trap
	used := func(text string) bool { return strings.Contains(err.Error(), text) }
	if errors.As(err, &trap) && trap.Kind == wasm.TrapFuel || used("more computing time") || used("used up its budget") || used("still at work") {
		k.stops++
	}
	result := Failed
	if errors.Is(err, errNoSignIn) && k.options.Profile.SignIn == nil || k.ctx.Err() != nil {
		result = Skipped
	}
	if c.Got != "" {
		err = fmt.Errorf("%w (%s)", err, c.Got)
	}
	k.report.add(c, result, err.Error())
}

// skip reports scenarios as skipped.
func (k *checker) skip(list []*Scenario, why string) {
	for _, s := range list {
		c := s.check()
		k.report.add(&c, Skipped, why)
	}
}

// An OptionError says that options do not fit the plugin: they have a setting that it does not
// have, or scenarios for the other kind of plugin. A host refuses a server entry with such a
// setting.
type OptionError struct{ text string }

func (e *OptionError) Error() string { return e.text }

// checkSettings returns an OptionError for the first setting, by name, that the plugin does not
// have.
func checkSettings(plugin string, values map[string]string, known []string) error {
	has := "it has none"
	if len(known) > 0 {
		has = "it has: " + strings.Join(known, ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, key) {
			return &OptionError{fmt.Sprintf("plugin %s has no setting %q; %s", plugin, key, has)}
		}
	}
	return nil
}
