package config

import "testing"

// "~" is the home folder in our own files, as it is in those of other clients.
func TestTildeIsTheHomeFolder(t *testing.T) {
	t.Setenv("HOME", "/home/a$b")
	t.Setenv("USERPROFILE", "/home/a$b")
	for written, want := range map[string]string{
		"~": "/home/a$b", "~/x": "/home/a$b/x", "~b/x": "~b/x", "x/~": "x/~",
	} {
		f, err := Parse("/etc/x.toml", []byte("[servers.a]\ncommand = \"true\"\ndir = \""+written+"\""))
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Servers[0].Expand(unset)
		if err != nil || s.Dir != want {
			t.Errorf("dir %s: %s, %v; want %s", written, s.Dir, err, want)
		}
	}
	f, err := Parse("/etc/x.toml", []byte("[servers.a]\ncommand = \"~/bin/x\"\nenv_file = \"~/.env\"\nargs = [\"~/y\"]"))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.Servers[0].Expand(unset); err != nil || s.Command != "/home/a$b/bin/x" || s.Args[0] != "~/y" {
		t.Errorf("%+v, %v", s, err)
	}
	if got := f.Servers[0].EnvFile; got != literal("/home/a$b/.env") {
		t.Errorf("env_file is %s", got)
	}
}
