package stream

import (
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	tests := []struct {
		in   string
		want Address
		err  string
	}{
		{"unix:/run/x.sock", Address{Network: "unix", Addr: "/run/x.sock"}, ""},
		{"unix:@name", Address{Network: "unix", Addr: "@name"}, ""},
		{"tcp:127.0.0.1:9000", Address{Network: "tcp", Addr: "127.0.0.1:9000"}, ""},
		{"tcp:[::1]:9000", Address{Network: "tcp", Addr: "[::1]:9000"}, ""},
		{"tcp:localhost:1", Address{Network: "tcp", Addr: "localhost:1"}, ""},
		{"tls:example.com:9000", Address{Network: "tls", Addr: "example.com:9000"}, ""},
		{"", Address{}, "want unix:/path/to/socket, tcp:host:port or tls:host:port"},
		{"/run/x.sock", Address{}, "want unix:/path/to/socket, tcp:host:port or tls:host:port"},
		{"127.0.0.1:9000", Address{}, "want unix:/path/to/socket, tcp:host:port or tls:host:port"},
		{"udp:1.2.3.4:5", Address{}, "want unix:/path/to/socket, tcp:host:port or tls:host:port"},
		{"unix:", Address{}, "is missing"},
		{"unix:@", Address{}, "must be absolute"},
		{"unix:run/x.sock", Address{}, "must be absolute"},
		{"unix:/a\x00b", Address{}, "NUL"},
		{"unix:/" + strings.Repeat("x", 103), Address{}, "use a shorter one"},
		{"unix:///run/x.sock", Address{}, "write it without slashes: unix:/run/x.sock"},
		{"redis://host:1/0", Address{}, "want unix:/path/to/socket"},
		{"tcp://host:1", Address{}, "write it without slashes: tcp:host:1"},
		{"tcp:host", Address{}, "want tcp:host:port"},
		{"tls:host", Address{}, "want tls:host:port"},
		{"tls://host:1", Address{}, "write it without slashes: tls:host:1"},
		{"tcp::9000", Address{}, "want tcp:host:port"},
		{"tcp:::1:9000", Address{}, "in brackets"},
		{"tcp:host:http", Address{}, "from 1 to 65535"},
		{"tcp:host:0", Address{}, "from 1 to 65535"},
		{"tcp:host:65536", Address{}, "from 1 to 65535"},
	}
	for _, tt := range tests {
		got, err := ParseAddress(tt.in)
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%q: %v, %v", tt.in, got, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: error %v, want …%s", tt.in, err, tt.err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"unix:/run/x.sock", "unix:@x", "tcp:127.0.0.1:9000", "tcp:[::1]:9", "tcp://a:1", "unix:", "tcp:a%b:1", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		if a.String() != s {
			t.Errorf("%q reads as %q", s, a)
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q does not read as itself: %v, %v", s, again, err)
		}
	})
}
