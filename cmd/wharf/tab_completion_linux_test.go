package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// TestCompletionInShells types a command line in each shell that there is, with the words
// of which the shell has to know the rest: a tool, the key of an argument, and the address
// of a resource. No server runs for it.
func TestCompletionInShells(t *testing.T) {
	if raced {
		t.Skip("shells start the program many times, which takes a second each under the race detector")
	}
	for _, args := range [][]string{{"tools", "demo"}, {"resources", "demo"}} { // now they are known
		if out, err := exec.Command("wharf", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	rc := t.TempDir()
	if err := os.WriteFile(filepath.Join(rc, "a-file"), []byte("from here"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(rc, "a-folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rc, "a-folder", "in @ it"), []byte("from within"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := knowCities(t)
	for name, c := range map[string]struct {
		argv  []string
		setup string
	}{
		"bash":              {[]string{"bash", "--norc", "--noprofile", "-i"}, "source <(wharf completion bash)"},
		"bash with package": {[]string{"bash", "--norc", "--noprofile", "-i"}, "source /usr/share/bash-completion/bash_completion; source <(wharf completion bash)"},
		"zsh":               {[]string{"zsh", "-f", "-i"}, "autoload -U compinit; compinit -u -D; source <(wharf completion zsh)"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				t.Skipf("there is no %s", c.argv[0])
			}
			if name == "bash with package" {
				if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil {
					t.Skip("the package bash-completion is not there")
				}
			}
			s := newScreen(t, []string{"PS1=ready> ", "HOME=" + rc, "INPUTRC=/dev/null", "TERM=dumb", config}, c.argv[0], c.argv[1:]...)
			s.Dir = rc
			s.start()
			s.answer("ready> ", c.setup+"; echo se''t up\n")
			s.await("set up")
			s.answer("ready> ", "wharf call demo ec\tmes\tHello | tr a-z A-Z\n")
			s.await("HELLO")
			s.answer("ready> ", "wharf call demo.ec\tmes\tGoodbye | tr a-z A-Z\n")
			s.await("GOODBYE")
			s.answer("ready> ", "wharf call cities city name=\tNew\\ Y\t| tr A-Z a-z\n")
			s.await("it is new york, here")
			s.answer("ready> ", "wharf call cities city name=N\tO\t| tr A-Z a-z\n") // the common beginning has a blank
			s.await("it is new orleans, here")
			s.answer("ready> ", "wharf call cities city name=St\t| tr A-Z a-z\n")
			s.await("it is st. john's, here")
			s.answer("ready> ", "wharf call cities city name=a\t| tr A-Z a-z\n") // nothing of it means something to the shell
			s.await("it is a$home \\\"b\\\" `touch run`; c\\\\n, here")
			s.answer("ready> ", "wharf call cities city name=e\t--outp\ttext\n") // nor when a Tab evaluates the line
			s.await("it is e$(touch run) (touch run), here")
			s.answer("ready> ", "wharf call demo echo message=@a-fi\t| tr a-z A-Z\n")
			s.await("FROM HERE")
			s.answer("ready> ", "wharf call demo echo message=@a-fo\tin\t| tr a-z A-Z\n")
			s.await("FROM WITHIN")
			if c.argv[0] == "bash" {
				s.answer("ready> ", "wharf call demo echo Fol --save a-fo\t| tr a-z A-Z\n")
				if shown := s.await(`"FOL"`); strings.Contains(shown, "filedir") || !strings.Contains(shown, "a-folder/") {
					t.Errorf("the shell shows %q", shown)
				}
			}
			for _, open := range []string{"name=\"New Y", "name='New Y", "\"name=New Y", "'name=New Y"} {
				s.answer("ready> ", "wharf call cities city "+open+"\t| tr A-Z a-z\n")
				s.await("it is new york, here")
			}
			s.answer("ready> ", "wharf call cities city name=\"e\t--output text\n")
			s.await("it is e$(touch run) (touch run), here")
			s.answer("ready> ", "wharf read cities li\t--output text | tr a-z A-Z\n")
			s.await("IT HAS LIST:///THE-PAGE?OF=$(TOUCH RUN)&AT=1")
			s.answer("ready> ", "wharf read cities no\t--outp\ttext | tr a-z A-Z\n")
			s.await("IT HAS NOTE:///A-$(TOUCH RUN)=(B) 'C'; \"!D\" <E> | F*")
			s.answer("ready> ", "wharf read cities 'list:///the-page?of=\t--output text | tr a-z A-Z\n") // nor is the address taken for a flag
			s.await("IT HAS LIST:///THE-PAGE?OF=$(TOUCH RUN)&AT=1")
			s.answer("ready> ", "wharf read cities list:///the-page\\?of=\t--output text | tr a-z A-Z\n")
			s.await("IT HAS LIST:///THE-PAGE?OF=$(TOUCH RUN)&AT=1")
			s.answer("ready> ", "wharf prompt cities day\thou\tnoon --outp\ttext | tr a-z A-Z\n") // a Tab evaluates the name
			s.await("DAY'S $(TOUCH RUN) `TOUCH RUN` (TOUCH RUN); & <OLD> AT NOON, HERE")
			if _, err := os.Stat(filepath.Join(rc, "run")); err == nil {
				t.Error("the shell has run a part of a value")
			}
			s.answer("ready> ", "wharf read demo demo://ab\t--output text | tr a-z A-Z\n")
			if shown := s.await("ready> "); strings.Contains(shown, "rror") || !strings.Contains(shown, "demo://about") {
				t.Errorf("the shell shows %q", shown)
			}
			s.master.WriteString("exit\n")
			s.end()
		})
	}
}

// knowCities makes known what a server lists whose argument has values with blanks, and returns
// the variable of the configuration that has it.
func knowCities(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "wharf"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wharf", "wharf.toml"), []byte("[servers.cities]\ncommand = \"server-counts\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"tools", "prompts", "resources"} {
		cmd := exec.Command("wharf", list, "cities")
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return "XDG_CONFIG_HOME=" + dir
}

// TestCompletionInFish asks fish, which can say what it would offer.
func TestCompletionInFish(t *testing.T) {
	if raced {
		t.Skip("shells start the program many times, which takes a second each under the race detector")
	}
	if _, err := exec.LookPath("fish"); err != nil {
		t.Skip("there is no fish")
	}
	if out, err := exec.Command("wharf", "tools", "demo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := knowCities(t)
	const (
		note = "note:///a-$(touch run)=(b) 'c'; \"!d\" <e> | f*"
		day  = "day's $(touch run) `touch run` (touch run); & <old>"
	)
	for line, want := range map[string]string{
		"wharf call cities city name=N":                              "name=New Orleans\nname=New York\n",
		`wharf call cities city name=New\ Y`:                         "name=New York\n",
		`wharf call cities city "name=St. J`:                         "name=St. John's\n",
		"wharf call cities city name=a":                              "name=a$HOME \"b\" `touch run`; c\\n\n",
		`wharf call cities city name='e$(touch run) (touch run)' na`: "",
		`wharf call cities city name="New Y`:                         "name=New York\n",
		"wharf read cities no":                                       note + "\n",
		"wharf read cities 'note:///a-$(touch run)=":                 note + "\n",
		`wharf read cities note:///a-\$\(touch\ run\)=`:              note + "\n",
		"wharf read cities (string escape li)":                       "",
		"wharf read cities li":                                       "list:///the-page?of=$(touch run)&at=1\n",
		"wharf prompt cities day":                                    day + "\n",
		"wharf prompt cities " + plain.ShellWord(day) + " hou":       "hour=\n",
		"wharf call demo ec":                                         "echo\n",
		"wharf call demo echo mes":                                   "message=\n",
		"wharf demo ad":                                              "add\n",
		"wharf call de":                                              "demo\n",
		"wharf call demo.ec":                                         "demo.echo\n",
		"wharf demo.echo mes":                                        "message=\n",
	} {
		cmd := exec.Command("fish", "-N", "-c", "wharf completion fish | source; complete -C $LINE")
		cmd.Env, cmd.Dir = append(os.Environ(), "HOME="+t.TempDir(), "LINE="+line, config), t.TempDir()
		out, err := cmd.Output()
		if _, wrong := os.Stat(filepath.Join(cmd.Dir, "run")); wrong == nil {
			t.Errorf("%s: fish has run a part of a value", line)
		}
		if err != nil || string(out) != want {
			t.Errorf("%s: %q, %v; want %q", line, out, err, want)
		}
	}
}
