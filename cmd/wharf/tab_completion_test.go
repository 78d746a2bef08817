package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

var updateCompletion = flag.Bool("completion", false, "write testdata/completion.ps1 anew")

// TestCompletionForPowerShell compares the script for a shell that is not at hand with the
// one that was read by a person.
func TestCompletionForPowerShell(t *testing.T) {
	got, err := exec.Command("wharf", "completion", "powershell").Output()
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "completion.ps1")
	if *updateCompletion {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is another; go test ./cmd/wharf -run TestCompletionForPowerShell -completion", golden)
	}
}

// TestOffers says which words of a server a shell is given, and that no space follows a key.
func TestOffers(t *testing.T) {
	const none, key = cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	for _, c := range []struct {
		words, want []string
		how         cobra.ShellCompDirective
	}{
		{nil, nil, none},
		{[]string{"a=", "b="}, []string{"a=", "b="}, key},
		{[]string{"a=1", "b="}, []string{"a=1", "b="}, none},
		{[]string{"$(reboot)", "a&b", "a b", "'a", "a ", " a", "demo://a/{b}?c#d"}, []string{"$(reboot)", "a&b", "a b", "'a", "demo://a/{b}?c#d"}, none},
		{[]string{"city=Chicago", "city=New York", "city=St. John's", "unit=C"}, []string{"city=Chicago", "city=New York", "city=St. John's", "unit=C"}, none},
		// the only value that is left would be completed at once
		{[]string{"city=Chicago", "city=New York ", "unit=C"}, []string{"unit=C"}, none},
	} {
		if got, how := offer(slices.Clone(c.words)); !slices.Equal(got, c.want) || how != c.how {
			t.Errorf("%q: %q, %d", c.words, got, how)
		}
	}
}
