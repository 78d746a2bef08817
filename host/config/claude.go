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

// denial is a rule about tools of servers in the permissions.deny of Claude Code's settings.
// mcp__SERVER means all that a server has, and mcp__SERVER__TOOL one tool, in which "*" stands
// for any characters.
type denial struct {
	file, rule string
	fits       bool // the rule names a server of the file; apply sets it
}

// denials holds what Claude Code's settings forbid to the servers of one of its files.
type denials struct {
	rules    []*denial
	warnings []string // for people: of settings that cannot be read
}

const keyDeny = "permissions.deny"

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
// the file, those of the project with the working folder cwd, and those of an administrator.
func denialsFor(path, cwd string) (d denials) {
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
	return d
}

// read adds the rules of a file. If the file could not be read, err says why, and read adds a
// warning.
func (d *denials) read(path string, data []byte, err error) {
	var text []byte
	if err == nil {
		text, err = decode(path, data)
	}
	var doc *document
	if err == nil {
		doc, err = readDocument(path, text)
	}
	if err != nil {
		d.warnings = append(d.warnings, fmt.Sprintf("%v; what %s forbids is not known", err, keyDeny))
		return
	}
	for _, rule := range doc.texts("permissions", "deny") {
		if strings.HasPrefix(rule, "mcp__") || rule == "*" {
			d.rules = append(d.rules, &denial{file: path, rule: rule})
		}
	}
}

// claude adds the rules of Claude Code's settings.
func (f *forbidden) claude(d denials) {
	for _, one := range d.rules {
		if !strings.Contains(one.rule, "(") {
			f.rules = append(f.rules, toolRule{key: keyDeny, pattern: one.rule, before: claudeTool, denial: one})
		}
	}
}

// noteDenied adds a note for each file of settings: which of its rules are now in the entry's
// disabled_tools.
func (e *entry) noteDenied(denied []*denial) {
	for len(denied) > 0 {
		file, rules := denied[0].file, []string(nil)
		denied = slices.DeleteFunc(denied, func(one *denial) bool {
			if one.file == file {
				rules = append(rules, one.rule)
			}
			return one.file == file
		})
		e.note("", "disabled_tools has what %s in %s says: %s", keyDeny, file, strings.Join(rules, ", "))
	}
}

// untaken returns notes about the rules that changed no entry of the file.
func (d denials) untaken() (notes []string) {
	for _, one := range d.rules {
		switch {
		case strings.Contains(one.rule, "("):
			notes = append(notes, fmt.Sprintf("%s: %s: %s is by arguments, which wharf does not look at; forbid the tool with disabled_tools, if you mean all of it", one.file, keyDeny, one.rule))
		case !one.fits:
			notes = append(notes, fmt.Sprintf("%s: %s: %s is about no server that is read here", one.file, keyDeny, one.rule))
		}
	}
	return notes
}
