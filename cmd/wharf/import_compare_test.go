package main

import (
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host"
)

// Where two clients enable tools by patterns, the entry permits no tool that one of them forbids.
func TestRestrictByPatterns(t *testing.T) {
	for _, tt := range []struct{ mine, other, want []string }{
		{nil, []string{"a*"}, []string{"a*"}},
		{[]string{"a*"}, nil, []string{"a*"}},
		{[]string{"a*", "b"}, []string{"ab", "b*"}, []string{"b", "ab"}},
		{[]string{"a*"}, []string{"*b"}, []string{}},
		{[]string{"a*"}, []string{"a*"}, []string{"a*"}},
	} {
		s := host.Server{EnabledTools: tt.mine}
		if s.Restrict(host.Server{EnabledTools: tt.other}); !slices.Equal(s.EnabledTools, tt.want) || s.EnabledTools == nil {
			t.Errorf("%q and %q: got %q, want %q", tt.mine, tt.other, s.EnabledTools, tt.want)
		}
	}
	for i, tt := range []struct {
		mine, other host.Server
		want        bool
	}{
		{host.Server{EnabledTools: []string{"a*"}}, host.Server{}, true},
		{host.Server{EnabledTools: []string{"ab*"}}, host.Server{EnabledTools: []string{"a*"}}, true},
		{host.Server{EnabledTools: []string{"a*"}}, host.Server{EnabledTools: []string{"ab*"}}, false},
		{host.Server{EnabledTools: []string{"a*"}}, host.Server{DisabledTools: []string{"ab"}}, false},
		{host.Server{EnabledTools: []string{"a"}}, host.Server{DisabledTools: []string{"ab"}}, true},
		{host.Server{}, host.Server{EnabledTools: []string{"a*"}}, false},
	} {
		if got := forbidsAll(tt.mine, tt.other); got != tt.want {
			t.Errorf("%d: forbids all is %v", i, got)
		}
	}
}

// An entry is that of another client where only the spelling of a variable differs, and what becomes of one that is not set.
func TestSameValue(t *testing.T) {
	for _, value := range []string{"Bearer ${?X}", "Bearer ${env:X}", "Bearer ${X:-}", "Bearer ${X:-$X}", "Bearer ${env:X:-}"} {
		if !sameValue(value, "Bearer ${X}") || sameValue(value, "Bearer ${Y}") || sameValue(value, "Bearer ${X:-d}") || sameValue(value, "Bearer X") {
			t.Errorf("%s is not as ${X}", value)
		}
	}
}
