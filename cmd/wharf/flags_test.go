package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// A flag of any command that takes a value refuses an empty one, which may be a variable that is not set.
func TestNoFlagTakesNothing(t *testing.T) {
	commands := func() (all []*cobra.Command) {
		all = []*cobra.Command{newRoot(&app{Terminal: &term.Terminal{}})}
		for i := 0; i < len(all); i++ {
			all = append(all, all[i].Commands()...)
		}
		return all
	}
	tried := 0
	for i, cmd := range commands() {
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			tried++
			for _, value := range []string{"", "--"} { // the second is that of a command, where the value was forgotten
				cmd := commands()[i] // whose flags have no values yet
				err := cmd.ParseFlags([]string{"--" + f.Name + "=" + value})
				if err == nil {
					err = checkFilled(cmd)
				}
				if err == nil {
					t.Errorf("%s takes --%s %q", cmd.CommandPath(), f.Name, value)
				}
			}
		})
	}
	if tried < 100 {
		t.Errorf("tried %d flags", tried)
	}
}
