package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// denial is a rule about tools of servers in a file beside that with the servers. In the permissions.deny of Claude Code's
// settings, mcp__SERVER means all that a server has, and mcp__SERVER__TOOL one tool, in which "*" stands
// for any characters. In the user.never_allow of Goose's permission.yaml, SERVER__TOOL means one tool.
type denial struct {
	file, rule string
	key        string // keyDeny or keyNever
	fits       bool   // the rule names a server of the file; apply sets it
}

// denials holds what such files of Claude Code and Goose forbid to the servers of one of its files.
type denials struct {
	rules    []*denial
	warnings []string // for people: of settings that cannot be read
}

const (
	keyDeny  = "permissions.deny"
	keyNever = "user.never_allow"
)

// settingsOfClaude are the paths of a project's settings in its folder. The user's own settings
// have the first of them in the home folder.
var settingsOfClaude = []string{".claude/settings.json", ".claude/settings.local.json"}

// managedByClaude are the paths of an administrator's settings, which apply to the servers of every
// file.
var managedByClaude = []string{
	"linux:/etc/claude-code/managed-settings.json", "darwin:/Library/Application Support/ClaudeCode/managed-settings.json",
	"windows:C:/Program Files/ClaudeCode/managed-settings.json",
}

// hasDenials reports whether the settings of Claude Code apply to the servers of a file.
func hasDenials(path string) bool {
	c := clientOf(path)
	return c != nil && c.id == "claude-code"
}

// denialsFor reads the settings of Claude Code that apply to the servers of a file: those beside
// the file, those of the project with the working folder cwd, and those of an administrator. For a file of Goose, it
// reads the permission.yaml beside it (crates/goose/src/config/permission.rs), in each of Goose's modes, although
// what stands there does not count in its mode auto.
func denialsFor(path, cwd string) (d denials) {
	if c := clientOf(path); c != nil && c.id == "goose" {
		d.readAll(filepath.Join(filepath.Dir(path), "permission.yaml"))
	}
	if !hasDenials(path) {
		return d
	}
	home, _ := os.UserHomeDir()
	folders := []string{filepath.Dir(path)}
	if cwd != "" && cwd != home {
		folders = append(folders, projectFolders(cwd, home)...)
	}
	var files []string
	for _, folder := range folders {
		for _, name := range settingsOfClaude {
			files = append(files, filepath.Join(folder, filepath.FromSlash(name)))
		}
	}
	if own, ok := expandPlace("$CLAUDE_CONFIG_DIR/settings.json", runtime.GOOS); ok && filepath.Dir(own) == folders[0] {
		files = append(files, own)
	}
	if filepath.Base(path) == "managed-mcp.json" {
		files = append(files, filepath.Join(folders[0], "managed-settings.json"))
	}
	for _, file := range managedByClaude {
		if managed, ok := expandPlace(file, runtime.GOOS); ok {
			files = append(files, managed)
		}
	}
	d.readAll(files...)
	return d
}

// readAll adds the rules of the files that there are.
func (d *denials) readAll(files ...string) {
	seen := make(map[string]bool)
	for _, file := range files {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) || seen[file] {
			continue
		}
		seen[file] = true
		var data []byte
		switch {
		case err == nil && !info.Mode().IsRegular():
			err = &Error{File: file, Problem: "is no regular file"}
		case err == nil:
			data, err = readFile(file)
		}
		d.read(file, data, err)
	}
}

// read adds the rules of a file. If the file could not be read, err says why, and read adds a
// warning.
func (d *denials) read(path string, data []byte, err error) {
	key := keyDeny
	if filepath.Ext(path) == ".yaml" {
		key = keyNever
	}
	var text []byte
	if err == nil {
		text, err = decode(path, data)
	}
	var doc *document
	if err == nil {
		doc, err = readDocument(path, text)
	}
	if err != nil {
		d.warnings = append(d.warnings, fmt.Sprintf("%v; what %s forbids is not known", err, key))
		return
	}
	for _, rule := range doc.texts(strings.Split(key, ".")...) {
		if strings.HasPrefix(rule, "mcp__") || rule == "*" || key == keyNever {
			d.rules = append(d.rules, &denial{file: path, rule: rule, key: key})
		}
	}
}

// beside adds the rules of the files that are beside that with the servers.
func (f *forbidden) beside(d denials) {
	for _, one := range d.rules {
		switch {
		case one.key == keyNever:
			f.rules = append(f.rules, toolRule{key: one.key, pattern: one.rule, before: gooseTool, denial: one})
		case !strings.Contains(one.rule, "("):
			f.rules = append(f.rules, toolRule{key: one.key, pattern: one.rule, before: claudeTool, denial: one})
		}
	}
}

// noteDenied adds a note for each file of settings: which of its rules are now in the entry's
// disabled_tools.
func (e *entry) noteDenied(denied []*denial) {
	for len(denied) > 0 {
		file, key, rules := denied[0].file, denied[0].key, []string(nil)
		denied = slices.DeleteFunc(denied, func(one *denial) bool {
			if one.file == file {
				rules = append(rules, one.rule)
			}
			return one.file == file
		})
		e.note("", "disabled_tools has what %s in %s says: %s", key, file, strings.Join(rules, ", "))
	}
}

// untaken returns notes about the rules that changed no entry of the file. Those of Goose may be about parts of its own.
func (d denials) untaken() (notes []string) {
	for _, one := range d.rules {
		switch {
		case one.key == keyNever:
		case strings.Contains(one.rule, "("):
			notes = append(notes, fmt.Sprintf("%s: %s: %s is by arguments, which wharf does not look at; forbid the tool with disabled_tools, if you mean all of it", one.file, keyDeny, one.rule))
		case !one.fits:
			notes = append(notes, fmt.Sprintf("%s: %s: %s is about no server that is read here", one.file, keyDeny, one.rule))
		}
	}
	return notes
}
