package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// projectFiles are the files in which projects keep their servers: Wharf's own, and those that
// editors and agents use. If several define the same name, the first of them counts. "*" is any name.
var projectFiles = slices.Concat(
	[]string{ownProjectFile, ".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".github/mcp.json"},
	[]string{".roo/mcp.json", ".kiro/settings/mcp.json", ".junie/mcp/mcp.json", ".air/mcp.json"},
	[]string{".amazonq/default.json", ".amazonq/mcp.json", "config/mcporter.json", ".mcphub/servers.json"},
	projectSettings,
)

// ownProjectFile is the file of a project that is Wharf's own.
const ownProjectFile = "wharf.toml"

// projectSettings are the projectFiles that hold other settings too, and often no servers.
var projectSettings = []string{
	".gemini/settings.json", ".qwen/settings.local.json", ".qwen/settings.json", ".codex/config.toml", ".zed/settings.json", ".amp/settings.json",
	".opencode/opencode.json", ".opencode/opencode.jsonc", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json",
	".ai/mcp/mcp.json", ".kiro/agents/*.json", ".amazonq/cli-agents/*.json", ".amazonq/agents/default.json",
	".continue/mcpServers/*.yaml", ".continue/mcpServers/*.json",
}

// Bounds of what a project can make this program do.
const (
	maxProjectFile    = 128 << 10 // bytes of a file
	maxProjectBytes   = 512 << 10 // bytes of all files together: reading as many takes a third of a second at worst
	maxProjectServers = 200       // of all files together
	maxProjectAgents  = 100       // names in a folder whose files are of agents
	maxProjectDepth   = 64        // folders from the working folder up to its repository
	maxProjectWarned  = 20        // warnings that a file of another client gives rise to
	maxProjectWarning = 60        // of all files
)

// Discovery holds what the files of a project say. None of it is approved yet: a person has to
// see it and be asked.
type Discovery struct {
	Files    []string // that were found, the nearest first
	Servers  []Server // each name once, whatever its case
	Isolated []string // plugins that the project wants in processes of their own: this makes them stricter, and so needs no approval
	Warnings []string // for people; a line each
	Notes    []string // the same, of what does no harm

	Behind  map[string]error // what is wrong with files that could not be read and name one of Servers, which would go first; by its name
	LeftOut map[string]error // what is wrong with entries that are not among Servers, by their names; a line with the file

	unread  []unread
	left    int // bytes of files that may still be read
	skipped int // files that would have been too many bytes
}

// unread is a file of a project that cannot be used.
type unread struct {
	text  string
	wrong error
}

// names reports whether a server of a name may be in the file.
func (u *unread) names(server string) bool {
	words := strings.FieldsFunc(strings.ToLower(u.text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)
	})
	server = strings.ToLower(server)
	return slices.ContainsFunc(words, func(word string) bool { return word == server || strings.HasSuffix(word, "."+server) })
}

// errSkipped says that a file was not read, because the files before it have as many bytes as all
// may have together.
var errSkipped = errors.New("too much was read before")

// Discover reads the project files that concern a working folder: those in the folder and, if it
// is part of a repository, those in the folders above it up to the root of the repository. The
// nearest folder comes first.
//
// Reading such a file can do no harm. Each is read once, up to 128 KiB, as long as all together
// have no more than 512 KiB. It must be a regular file in its folder: a link that leads out of
// the folder is not followed. A file that cannot be used is left out with a warning. So is an
// entry that wants more than a project may have: a project names a command, a url or an address,
// and the user grants it or not.
//
// Of a repository only the presence of .git counts. It is never opened, because its contents
// came with the project too.
func Discover(dir string) *Discovery {
	d := &Discovery{left: maxProjectBytes}
	dir, err := realFolder(dir)
	if err != nil {
		d.warn("project files are not looked for: %v", err)
		return d
	}
	home, _ := os.UserHomeDir()
	for _, folder := range projectFolders(dir, home) {
		d.readFolder(folder)
	}
	if more := len(d.Warnings) - maxProjectWarning; more > 0 {
		d.Warnings = d.Warnings[:maxProjectWarning]
		d.warn("and there are %d more warnings about project files", more)
	}
	d.Notes = d.Notes[:min(len(d.Notes), maxProjectWarning)]
	if d.skipped > 0 {
		d.warn("project files here and above it have more than %d KiB; %d of them are left out", maxProjectBytes>>10, d.skipped)
	}
	for _, list := range [][]string{d.Warnings, d.Notes} {
		for i, w := range list {
			list[i] = cleantext.Mask(w) // a line each
		}
	}
	return d
}

// realFolder returns the path of a folder as approvals have it: absolute, without links.
func realFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	switch {
	case err != nil:
		return "", err
	case !utf8.ValidString(dir) || strings.Contains(dir, "$"):
		return "", fmt.Errorf("the path of the working folder, %q, holds what could be taken for something else", dir)
	}
	return dir, nil
}

// projectFolders returns the working folder. If the folder is in a repository, it also returns the
// folders above it up to the root of the repository. It looks for the repository neither in the home
// folder, whose files are not a project's, nor in a folder that every user may write to, nor above
// those.
func projectFolders(dir, home string) []string {
	var folders []string
	for at := dir; len(folders) < maxProjectDepth; at = filepath.Dir(at) {
		if info, err := os.Stat(at); at != dir && (at == home || err != nil || info.Mode().Perm()&0o002 != 0) {
			break
		}
		folders = append(folders, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return folders
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	return []string{dir}
}

// readFolder reads the project files of one folder through an [os.Root], so that no symbolic
// link leads out of the folder.
func (d *Discovery) readFolder(folder string) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		d.warn("%v; its project files are left out", err)
		return
	}
	defer root.Close()
	home, _ := os.UserHomeDir()
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for _, pattern := range projectFiles {
		for _, name := range namesWithin(root, pattern) {
			if p := (Project{Folder: folder, File: name}); !isOwn(p.Path(), home) {
				d.readFile(root, p, slices.Contains(projectSettings, pattern))
			}
		}
	}
}

// isOwn reports whether a file is no project's but the user's own: that of Wharf, which a link may
// lead to, or one of a client at its place. No link is on the paths of the file and of home.
func isOwn(name, home string) bool {
	if filepath.Base(name) == ownProjectFile {
		own, _ := UserPath()
		mine, err := os.Stat(own)
		info, wrong := os.Stat(name)
		return err == nil && wrong == nil && os.SameFile(mine, info)
	}
	named, _ := os.UserHomeDir() // a link may be on its path
	return slices.ContainsFunc(clientOf(name).userFiles(), func(file string) bool {
		place, ok := expandPlace(file, runtime.GOOS)
		if rel, err := filepath.Rel(named, place); err == nil && filepath.IsLocal(rel) {
			place = filepath.Join(home, rel)
		}
		folder, match := cutEnd("/"+filepath.ToSlash(name), filepath.ToSlash(place))
		return ok && match && folder == ""
	})
}

// namesWithin returns the names below root that a pattern of projectFiles stands for. With "*" in it they are those that
// are there, at most maxProjectAgents.
func namesWithin(root *os.Root, pattern string) (names []string) {
	before, end, several := strings.Cut(pattern, "*")
	if !several {
		return []string{pattern}
	}
	folder, err := root.OpenFile(filepath.FromSlash(path.Dir(before)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(maxProjectAgents)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, end) && utf8.ValidString(name) {
			names = append(names, before+name)
		}
	}
	slices.Sort(names)
	return names
}

// readFile reads a project file. A file of settings may have no servers.
func (d *Discovery) readFile(root *os.Root, p Project, settings bool) {
	data, err := d.readWithin(root, p.File)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && len(data) == 0 && settings {
		return
	}
	if errors.Is(err, errSkipped) {
		d.skipped++
		return
	}
	var f *File
	if err == nil {
		denied := d.denials(root, p)
		f, err = parse(p.Path(), data, place{denied: denied})
		if err == nil && denied.readOwn(p.Path()) {
			f, err = f.bound(parse(p.Path(), data, place{denied: denied}))
		}
	} else {
		err = fmt.Errorf("%s: %w", p.Path(), err)
	}
	var wrong *Error
	if errors.As(err, &wrong) && wrong.noServers && settings {
		return
	}
	d.Files = append(d.Files, p.Path())
	if err != nil {
		wrong := errors.New(cleantext.Mask(strings.ReplaceAll(err.Error(), "\n", "; ")))
		d.warn("%v; this project file is left out", wrong)
		d.unread = append(d.unread, unread{string(data), wrong})
		return
	}
	d.take(p, f)
}

// bound returns a reading of the same file with what the person's own settings of the client deny, which it notes for
// each server.
func (f *File) bound(now *File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	for i := range now.Servers {
		s := &now.Servers[i]
		at := slices.IndexFunc(f.Servers, func(before Server) bool { return before.Name == s.Name })
		s.denied = slices.DeleteFunc(slices.Clone(s.DisabledTools), func(tool string) bool {
			return at >= 0 && slices.Contains(f.Servers[at].DisabledTools, tool)
		})
		if at >= 0 {
			s.enabledByFile = &f.Servers[at].EnabledTools
		}
	}
	return now, nil
}

// denials reads the settings of Claude Code or of Cursor's CLI, or the policies of Gemini CLI, that stand in the same project
// as p, if p is a file of that client.
func (d *Discovery) denials(root *os.Root, p Project) (denied denials) {
	var beside []string
	for _, pattern := range settingsBeside(p.Path()) {
		beside = append(beside, namesWithin(root, pattern)...)
	}
	for _, name := range beside {
		if data, err := d.readWithin(root, name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			denied.read(filepath.Join(p.Folder, filepath.FromSlash(name)), data, err)
		}
	}
	return denied
}

// readWithin reads a file below root. It checks the open file, so that the checks hold for the
// bytes that it reads.
func (d *Discovery) readWithin(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not wait for its writer
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	if info.Size() > int64(d.left) {
		return nil, errSkipped
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(min(maxProjectFile+1, d.left))))
	d.left -= len(data)
	if len(data) > maxProjectFile {
		return nil, fmt.Errorf("it is larger than %d KiB", maxProjectFile>>10)
	}
	return data, err
}

// take adds the servers and settings of a file that a project may have.
func (d *Discovery) take(p Project, f *File) {
	d.Notes = append(d.Notes, f.Notes[:min(len(f.Notes), maxProjectWarned)]...)
	d.Warnings = append(d.Warnings, f.Warnings[:min(len(f.Warnings), maxProjectWarned)]...)
	if more := len(f.Warnings) - maxProjectWarned; more > 0 {
		d.warn("%s: and %d more", p.Path(), more)
	}
	for _, policy := range f.Policies {
		d.warn("%s: policy %s: a policy counts in your own configuration alone; rules of access may stand here", p.Path(), policy.Name)
	}
	if f.Audit != nil {
		d.warn("%s: audit: %s", p.Path(), grantsNothing)
	}
	if f.Serve != nil {
		d.warn("%s: serve: %s", p.Path(), grantsNothing)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		if plugin := f.Plugins[name]; plugin.isStricter() && plugin.Isolation == IsolationProcess {
			d.Isolated = append(d.Isolated, name)
			continue
		}
		d.warn("%s: plugin %s: %s", p.Path(), name, grantsNothing)
	}
	for name, wrong := range f.LeftOut {
		d.leaveOut(p, name, wrong)
	}
	for _, s := range f.Servers {
		if len(d.Servers) == maxProjectServers {
			d.warn("%s: there are more than %d servers; the rest is left out", p.Path(), maxProjectServers)
			return
		}
		if at := slices.IndexFunc(d.Servers, func(other Server) bool { return strings.EqualFold(other.Name, s.Name) }); at >= 0 {
			first, tell := &d.Servers[at], d.warn
			if strings.HasSuffix(path.Dir(p.File), "agents") { // of which several may have one server, each with its own tools
				tell = d.note
			} else if first.runsAs(s) {
				first.restrictBeside(s, p)
			}
			tell("%s: server %s: %s has a server %s, which goes first", p.Path(), s.Name, first.Project.Path(), first.Name)
			continue
		}
		s.bind(p)
		wrong := s.refuse()
		if len(wrong) == 0 {
			d.Servers = append(d.Servers, s)
			d.doubt(s)
			continue
		}
		d.leaveOut(p, s.Name, &Error{Field: wrong[0].Field, Problem: wrong[0].Problem})
		wrong[len(wrong)-1].Problem += "; this server is left out"
		for _, w := range wrong {
			d.warn("%v", w)
		}
	}
}

// doubt notes what is wrong with a file that would go before the one of a server, and may have one of that name.
func (d *Discovery) doubt(s Server) {
	i := slices.IndexFunc(d.unread, func(u unread) bool { return u.names(s.Name) })
	if i < 0 {
		return
	}
	if d.Behind == nil {
		d.Behind = make(map[string]error)
	}
	d.Behind[s.Name] = d.unread[i].wrong
}

// leaveOut keeps what is wrong with an entry, of the nearest file that has one of its name.
func (d *Discovery) leaveOut(p Project, name string, wrong error) {
	if d.LeftOut == nil {
		d.LeftOut = make(map[string]error)
	}
	if d.LeftOut[name] == nil {
		d.LeftOut[name] = errors.New(cleantext.Mask(fmt.Sprintf("%s: %v", p.Path(), wrong)))
	}
}

func (d *Discovery) warn(format string, a ...any) {
	d.Warnings = append(d.Warnings, fmt.Sprintf(format, a...))
}

func (d *Discovery) note(format string, a ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, a...))
}

// Beneath returns the servers of the project that can be used beside the user's own. A user's
// entry takes precedence over one of the same name, which is left out with a warning. Names that
// differ only in their case count as the same, so that a person sees at once which of two is
// meant.
func (d *Discovery) Beneath(own []Server) (servers []Server, warnings []string) {
	for _, s := range d.Servers {
		if first, taken := sameName(own, s.Name); taken {
			whose := "of your own"
			if first.file == "" {
				whose = "already" // a part of the program, not an entry
			}
			warnings = append(warnings, fmt.Sprintf("%s: server %s: there is a server %s %s, which goes first", s.Project.Path(), s.Name, first.Name, whose))
			continue
		}
		servers = append(servers, s)
	}
	return servers, warnings
}

func sameName(servers []Server, name string) (s Server, found bool) {
	i := slices.IndexFunc(servers, func(s Server) bool { return strings.EqualFold(s.Name, name) })
	if i >= 0 {
		s = servers[i]
	}
	return s, i >= 0
}
