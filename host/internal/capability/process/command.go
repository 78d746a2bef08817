package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// Process is the grant of one child process. The write side of the handle is its stdin, and the
// data is its stdout. It is started without a shell.
type Process struct {
	Command string   // a name to look up in PATH, or a path
	Args    []string // without the command itself
	Env     []string // NAME=value, on top of the few variables every child gets
	Dir     string   // the working directory; empty for this process's own
	Bare    bool     // without the variables that every child gets
}

// command makes the command that starts the process. It checks for reasons that would make the
// start fail, because the errors of a fork are terse.
func (p Process) command() (*exec.Cmd, error) {
	if p.Command == "" {
		return nil, fmt.Errorf("the command is empty")
	}
	if err := p.checkText(); err != nil {
		return nil, err
	}
	if p.Dir != "" { // for a missing folder the system would report a missing program
		info, err := os.Stat(p.Dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("working directory %q: %w; make it, or correct dir in its entry", p.Dir, fs.ErrNotExist)
		case err != nil:
			return nil, fmt.Errorf("working directory %q: %w", p.Dir, capability.Cause(err))
		case !info.IsDir():
			return nil, fmt.Errorf("working directory %q: it is a file", p.Dir)
		}
	}
	env := childEnv(p.Env)
	path, err := p.locate(env)
	if err != nil {
		return nil, err
	}
	if err := checkBatch(path, p.Args); err != nil {
		return nil, err
	}
	if p.Bare {
		env = append([]string{}, p.Env...) // a nil Env would inherit all variables of this process
	}
	args := append([]string{p.Command}, p.Args...)
	return &exec.Cmd{Path: path, Args: args, Env: env, Dir: p.Dir}, nil
}

// checkText refuses text with a NUL, where the system would cut it off.
func (p Process) checkText() error {
	for _, s := range slices.Concat([]string{p.Command, p.Dir}, p.Args, p.Env) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("command %q: %q holds a NUL byte", p.Command, s)
		}
	}
	return nil
}

// Locate returns the absolute path of the program that would run now, without resolving links. It
// starts nothing. It looks in this process's own PATH, whatever the process is declared to have.
func (p Process) Locate() (string, error) {
	if err := p.checkText(); err != nil {
		return "", err
	}
	return p.locate(childEnv(nil))
}

// locate returns the path of the program. A name is looked up in the PATH that
// the child will have. A path is relative to the working directory of the child.
// Empty and relative entries of PATH are passed over: what runs must not depend
// on the current folder.
func (p Process) locate(env []string) (string, error) {
	if filepath.Base(p.Command) != p.Command { // a path
		path := p.Command
		if !filepath.IsAbs(path) && p.Dir != "" {
			path = filepath.Join(p.Dir, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("command %q: %w", p.Command, err)
		}
		found, err := exec.LookPath(path)
		switch {
		case err == nil:
			return found, nil
		case errors.Is(err, fs.ErrPermission):
			return "", fmt.Errorf("command %q: %s is not an executable file; does it need chmod +x?", p.Command, path)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
			if apart := p.apart(); apart != "" {
				return "", &missingError{fmt.Sprintf("command %q: there is no such file; %s", p.Command, apart)}
			}
			return "", &missingError{fmt.Sprintf("command %q: there is no %s", p.Command, path)}
		}
		return "", fmt.Errorf("command %q: %w", p.Command, err)
	}
	for _, dir := range filepath.SplitList(LookupEnv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, p.Command)); err == nil {
			return path, nil
		}
	}
	remedy := "install it, or give its full path"
	if vendor := vendors[p.Command]; vendor != "" {
		remedy = "is " + vendor + " installed?"
	}
	if apart := p.apart(); apart != "" {
		remedy = apart
	}
	return "", &missingError{fmt.Sprintf("command %q not found in PATH; %s", p.Command, remedy)}
}

// apart says how to write a command whose text also holds its arguments, or has blanks around it.
// For any other command it returns "".
func (p Process) apart() string {
	words := strings.Fields(p.Command)
	if len(words) == 1 && words[0] != p.Command {
		return "it has blanks around it; leave them out"
	}
	if len(words) < 2 {
		return ""
	}
	var args []string
	for _, word := range append(words[1:], p.Args...) {
		args = append(args, strconv.Quote(word))
	}
	return fmt.Sprintf("write the command and its arguments apart: the command is %q, and args are [%s]", words[0], strings.Join(args, ", "))
}

// missingError is the error of a program that does not exist. It matches fs.ErrNotExist without
// repeating its text.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// vendors maps the usual launchers of servers to the products that contain them.
var vendors = map[string]string{
	"npx": "Node.js", "npm": "Node.js", "node": "Node.js",
	"uvx": "uv", "uv": "uv", "python": "Python", "python3": "Python", "pipx": "pipx",
	"bun": "Bun", "bunx": "Bun", "deno": "Deno",
	"docker": "Docker", "podman": "Podman", "go": "Go", "java": "Java", "dotnet": ".NET",
}

// explainRun adds to an error of exec its usual cause. By then [Process.locate] has found that the
// file is there and executable.
func explainRun(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; is the interpreter installed that its first line names?", err)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w; was it built for another system, or does it lack a #! line?", err)
	}
	return err
}

// batchSpecial holds the characters that cmd.exe may interpret, quoted or not.
const batchSpecial = "\"%!^&|<>()\r\n"

// checkBatch keeps arguments from becoming commands: Windows runs a batch file through cmd.exe,
// however it is started, and no quoting is safe there.
func checkBatch(path string, args []string) error {
	ext := strings.ToLower(filepath.Ext(path))
	for _, arg := range args {
		if (ext == ".bat" || ext == ".cmd") && strings.ContainsAny(arg, batchSpecial) {
			return fmt.Errorf("%s is a batch file, and cmd.exe would read %q as more than an argument; start the program behind it instead", path, arg)
		}
	}
	return nil
}
