package args

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// The words that a shell makes of an object without quotes are known by their members.
func TestObjectsTakenApart(t *testing.T) {
	for words, want := range map[string]string{
		"a=[b:1] a=[c:2]":         `the shell takes JSON apart, and single quotes keep it whole: 'a=[{"b": …}]'`,
		"a=b:1 a=c:2":             `if it takes a list, write 'a=["b:1","c:2"]'; if it is JSON, single quotes keep it whole: 'a={"b": …}'`,
		"a=b a=c:2":               `if it takes a list, write 'a=["b","c:2"]'`,
		"a=https://b a=https://c": `if it takes a list, write 'a=["https://b","https://c"]'`,
	} {
		if _, err := new(Call).Read(t.Context(), nil, "", strings.Fields(words)); exit.HintOf(err) != want {
			t.Errorf("%s: %v; %s", words, err, exit.HintOf(err))
		}
	}
}
