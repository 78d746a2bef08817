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
// for any characters. In that of Cursor's CLI, Mcp(SERVER:TOOL) means a tool, and both are patterns (Cursor's
// documentation, "CLI: Permissions"). In the user.never_allow of Goose's permission.yaml, SERVER__TOOL means one tool. In the
// exclude of Continue's permissions.yaml, TOOL means the tools of that name ("Tool Permissions" in its documentation). For the
// policies of Gemini CLI see takePolicies.
type denial struct {
	file, rule string
	key        string   // keyDeny, keyNever, keyExclude or keyPolicy
	pattern    string   // of the name that the client gives to a tool; "" for a rule that wharf cannot keep
	before     []string // what the client puts before a tool's own name
	permits    bool     // the tool after all, although a rule with a lower rank denies it
	rank       int      // of a policy of Gemini CLI; see ranked
	fits       bool     // the rule names a server of the file; apply sets it
	general    bool     // the rule is for servers of any file
}

// denials holds what such files of Claude Code, Cursor, Gemini CLI, Goose and VS Code forbid to the servers of one of its files.
type denials struct {
	rules    []*denial
	servers  map[string]string // the places that disable servers, by name, as foldName has it
	off      string            // the place that turns all servers off, or ""
	own      []*document       // a person's own files of the client, for the servers of a project
	warnings []string          // for people: of settings that cannot be read

	deniedServers []serverRule
	allowLists    [][]serverRule // of each file that has one; a server has to be in every list
	allowFiles    []string       // the files of allowLists
}

const (
	keyDeny    = "permissions.deny"
	keyNever   = "user.never_allow"
	keyExclude = "exclude"
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

// settingsOfCursor is the path of what a project forbids Cursor's CLI, in the project's folder.
const settingsOfCursor = ".cursor/cli.json"

// ownOfCursor are the paths of what its person forbids Cursor's CLI (Cursor's documentation, "CLI: Configuration").
var ownOfCursor = []string{
	"~/.cursor/cli-config.json", "$CURSOR_CONFIG_DIR/cli-config.json", "linux:$XDG_CONFIG_HOME/cursor/cli-config.json",
}

// switchesOfGemini is the path of the file in which `gemini mcp disable` keeps which servers are off, those of projects too
// (packages/cli/src/config/mcp/mcpServerEnablement.ts).
const switchesOfGemini = "~/.gemini/mcp-server-enablement.json"

// settingsOfCopilot are the paths in which `/mcp disable` of GitHub Copilot CLI keeps which servers are off; its earlier
// releases had the second (github/copilot-cli#3582, github/app#290).
var settingsOfCopilot = []string{
	"~/.copilot/settings.json", "~/.copilot/config.json", "$COPILOT_HOME/settings.json", "$COPILOT_HOME/config.json",
}

// permissionsOfContinue is the path of what its person keeps from Continue's CLI (extensions/cli/src/permissions and env.ts).
var permissionsOfContinue = []string{"~/.continue/permissions.yaml", "$CONTINUE_GLOBAL_DIR/permissions.yaml"}

// toolsOfContinue are the tools of that program itself, about which its rules mostly are.
var toolsOfContinue = []string{
	"Read", "List", "Search", "Fetch", "Diff", "Edit", "MultiEdit", "Write", "Bash", "AskQuestion", "Checklist", "Status", "CheckBackgroundJob",
	"ReportFailure", "UploadArtifact", "Exit", "Skills", "Subagent",
}

// settingsOfCode is the name of VS Code's settings beside its file of servers.
const settingsOfCode = "settings.json"

// settingsBeside returns the paths of the settings in a project's folder that apply to the servers of a file there.
func settingsBeside(path string) []string {
	switch c := clientOf(path); {
	case c != nil && c.id == "claude-code":
		return settingsOfClaude
	case c != nil && c.id == "cursor":
		return []string{settingsOfCursor}
	case c != nil && c.id == "gemini":
		return []string{policiesBeside}
	}
	return nil
}

// denialsFor reads the settings of Claude Code and of Cursor's CLI that apply to the servers of a file: those beside
// the file, those of the project with the working folder cwd, and those of an administrator, or of the person. For a file
// of Gemini CLI it reads which servers are off, and policies; for one of GitHub Copilot CLI, which servers are off; for one of
// Continue, its permissions.yaml; and for one of VS Code the settings beside it. For a file of Goose, it
// reads the permission.yaml beside it (crates/goose/src/config/permission.rs), in each of Goose's modes, although
// what stands there does not count in its mode auto.
func denialsFor(path, cwd string) (d denials) {
	c := clientOf(path)
	switch {
	case c == nil:
	case c.id == "vscode" && filepath.Base(path) == "mcp.json":
		d.readAll(filepath.Join(filepath.Dir(path), settingsOfCode))
	case c.id == "gemini":
		d.readAll(filesOfGemini(path, cwd)...)
	case c.id == "continue":
		d.readAll(placesHere(permissionsOfContinue)...)
	case c.id == "copilot":
		d.readAll(placesHere(settingsOfCopilot)...)
	case c.id == "goose":
		d.readAll(filepath.Join(filepath.Dir(path), "permission.yaml"))
	case c.id == "cursor":
		d.readAll(filesOfCursor(path, cwd)...)
	case c.id == "claude-code":
		d.readAll(filesOfClaude(path, cwd)...)
		if home, _ := os.UserHomeDir(); filepath.Dir(path) != home {
			d.readOwn(path)
		}
		if filepath.Base(path) != ".mcp.json" { // the servers of no other file can be rejected by name
			d.servers = nil
		}
	}
	docs, warnings := ownDocuments(c, path)
	d.own, d.warnings = docs, append(d.warnings, warnings...)
	return d
}

// readOwn adds what a person's own settings of a client, and those of an administrator, deny to a project's file. It
// reports whether there is anything.
func (d *denials) readOwn(path string) bool {
	c := clientOf(path)
	var own denials
	switch {
	case c == nil:
	case c.id == "cursor":
		own.readAll(placesHere(ownOfCursor)...)
	case c.id == "gemini":
		own.readAll(append(policiesOfGemini(), placesHere([]string{switchesOfGemini})...)...)
	case c.id == "continue":
		own.readAll(placesHere(permissionsOfContinue)...)
	case c.id == "copilot":
		own.readAll(placesHere(settingsOfCopilot)...)
	case c.id == "claude-code":
		own.readAll(ownOfClaude()...)
		own.readProjects(path, statesOfClaude...)
	}
	docs, warnings := ownDocuments(c, path)
	d.own, own.warnings = append(d.own, docs...), append(own.warnings, warnings...)
	for _, r := range own.rules {
		known := func(other *denial) bool { return other.file == r.file && other.rule == r.rule }
		if r.general = true; !slices.ContainsFunc(d.rules, known) {
			d.rules = append(d.rules, r)
		}
	}
	for name, place := range own.servers {
		d.disable(name, place)
	}
	d.deniedServers = append(d.deniedServers, own.deniedServers...)
	d.allowLists = append(d.allowLists, own.allowLists...)
	d.allowFiles = append(d.allowFiles, own.allowFiles...)
	d.warnings = append(d.warnings, own.warnings...)
	return len(own.rules)+len(own.servers)+len(own.deniedServers)+len(own.allowLists)+len(docs)+len(own.warnings) > 0
}

// ownOfClaude returns the paths of a person's own settings of Claude Code, and of those of an administrator.
func ownOfClaude() []string {
	own, chosen := expandPlace("$CLAUDE_CONFIG_DIR/settings.json", runtime.GOOS)
	if !chosen {
		own, _ = expandPlace("~/"+settingsOfClaude[0], runtime.GOOS)
	}
	return append([]string{own}, placesHere(managedByClaude)...)
}

// filesOfCursor returns the paths of the settings of Cursor's CLI that apply to the servers of a file.
func filesOfCursor(path, cwd string) (files []string) {
	for _, folder := range withProject(filepath.Dir(filepath.Dir(path)), cwd) { // the file is in its .cursor
		files = append(files, filepath.Join(folder, filepath.FromSlash(settingsOfCursor)))
	}
	return append(files, placesHere(ownOfCursor)...)
}

// withProject returns a folder, and those of the project with the working folder cwd. The home folder is no project.
func withProject(folder, cwd string) []string {
	folders := []string{folder}
	if home, _ := os.UserHomeDir(); cwd != "" && cwd != home {
		folders = append(folders, projectFolders(cwd, home)...)
	}
	return folders
}

// placesHere returns the paths that files have on this system.
func placesHere(files []string) (paths []string) {
	for _, file := range files {
		if path, ok := expandPlace(file, runtime.GOOS); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// filesOfClaude returns the paths of the settings of Claude Code that apply to the servers of a file.
func filesOfClaude(path, cwd string) (files []string) {
	folders := withProject(filepath.Dir(path), cwd)
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
	return append(files, placesHere(managedByClaude)...)
}

// readAll adds the rules of the files that there are.
func (d *denials) readAll(files ...string) {
	seen := make(map[string]bool)
	for _, file := range files {
		if seen[file] {
			continue
		}
		seen[file] = true
		if data, err := readRegular(file); !errors.Is(err, fs.ErrNotExist) {
			d.read(file, data, err)
		}
	}
}

// readRegular returns what is in a file. The error of a pipe or a device comes before it is opened.
func readRegular(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &Error{File: file, Problem: "is no regular file"}
	}
	return readFile(file)
}

// settingsKind is what a file of settings says, by its path.
type settingsKind struct {
	unknown string // what is not known if it cannot be read, for people
	take    func(d *denials, path string, doc *document)
}

func kindOf(path string) settingsKind {
	switch {
	case filepath.Base(path) == filepath.Base(switchesOfGemini):
		return settingsKind{"which servers Gemini CLI has off", (*denials).takeSwitches}
	case slices.Contains(placesHere(settingsOfCopilot), path):
		return settingsKind{"what disabledMcpServers disables", (*denials).takeDisabled}
	case clientOf(path) == byID("vscode"):
		return settingsKind{"whether VS Code has its servers off", (*denials).takeOff}
	case filepath.Ext(path) == ".toml":
		return settingsKind{"what it denies Gemini CLI", (*denials).takePolicies}
	case filepath.Base(path) == "permissions.yaml":
		return settingsKind{"what " + keyExclude + " forbids", func(d *denials, path string, doc *document) { d.takeRules(path, keyExclude, doc) }}
	case filepath.Ext(path) == ".yaml":
		return settingsKind{"what " + keyNever + " forbids", func(d *denials, path string, doc *document) { d.takeRules(path, keyNever, doc) }}
	}
	return settingsKind{"what " + keyDeny + " forbids", func(d *denials, path string, doc *document) {
		d.takeRules(path, keyDeny, doc)
		d.takeServers(path, doc)
	}}
}

// read adds what a file of settings forbids. If the file could not be read, err says why, and read
// adds a warning.
func (d *denials) read(path string, data []byte, err error) {
	var text []byte
	if err == nil {
		text, err = decode(path, data)
	}
	var doc *document
	if err == nil {
		doc, err = readDocument(path, text)
	}
	kind := kindOf(path)
	if err != nil {
		d.warnings = append(d.warnings, fmt.Sprintf("%v; %s is not known", err, kind.unknown))
		return
	}
	kind.take(d, path, doc)
}

// takeSwitches adds the servers that Gemini CLI has off.
func (d *denials) takeSwitches(path string, doc *document) {
	for name := range doc.root {
		if doc.at([]string{name, "enabled"}) == false {
			d.disable(name, path)
		}
	}
}

// takeDisabled adds the servers that GitHub Copilot CLI has off.
func (d *denials) takeDisabled(path string, doc *document) {
	for _, name := range doc.texts("disabledMcpServers") {
		d.disable(name, "disabledMcpServers in "+path)
	}
}

// takeOff notes that VS Code has all servers off.
func (d *denials) takeOff(path string, doc *document) {
	if key := offInCode(doc); key != "" {
		d.off = key + " in " + path
	}
}

// offInCode returns the key by which settings of VS Code turn all servers off, or "".
func offInCode(doc *document) string {
	switch {
	case doc.root["chat.mcp.enabled"] == false:
		return "chat.mcp.enabled"
	case doc.root["chat.mcp.access"] == "none":
		return "chat.mcp.access"
	}
	return ""
}

// takeRules adds the rules about tools in the list of a key.
func (d *denials) takeRules(path, key string, doc *document) {
	for _, rule := range doc.texts(strings.Split(key, ".")...) {
		if pattern, before, ofTools := patternOf(path, rule); ofTools {
			d.rules = append(d.rules, &denial{file: path, rule: rule, key: key, pattern: pattern, before: before})
		}
	}
}

// patternOf returns the pattern and the beginning of a denial, by the rule of a file. ofTools is false for a rule about
// other things than the tools of servers.
func patternOf(path, rule string) (pattern string, before []string, ofTools bool) {
	switch base := filepath.Base(path); {
	case base == "permissions.yaml":
		tool, arguments, _ := strings.Cut(rule, "(")
		tool, arguments = strings.TrimSpace(tool), strings.Trim(arguments, "*) ")
		if slices.Contains(toolsOfContinue, tool) || arguments != "" { // Continue excludes whole tools alone
			return "", nil, false
		}
		return tool, []string{""}, true
	case filepath.Ext(path) == ".yaml":
		return rule, gooseTool, true
	case base == "cli-config.json" || base == filepath.Base(settingsOfCursor):
		inner, is := strings.CutPrefix(rule, "Mcp(")
		inner, closed := strings.CutSuffix(inner, ")")
		if !closed || !strings.Contains(inner, ":") {
			return "", nil, is
		}
		return strings.ReplaceAll(inner, "?", "*"), cursorTool, is // "?" is one character: a wider pattern may forbid
	case strings.Contains(rule, "("): // by arguments
		return "", nil, strings.HasPrefix(rule, "mcp__")
	}
	return rule, claudeTool, rule == "*" || strings.HasPrefix(rule, "mcp__")
}

// beside adds the rules of the files that are beside that with the servers.
func (f *forbidden) beside(d denials) {
	f.denied = d
	if d.off != "" {
		f.all, f.allKey = true, d.off
	}
	for name, file := range d.servers {
		f.servers[name] = file
	}
	for _, doc := range d.own {
		f.also = append(f.also, forbiddenIn(doc, section{}, place{}))
	}
	for _, one := range d.ranked() {
		if one.pattern != "" {
			f.rules = append(f.rules, toolRule{key: one.key, pattern: one.pattern, before: one.before, permits: one.permits, whole: true, denial: one})
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
		case one.key == keyNever, one.key == keyExclude, one.permits, one.general:
		case one.key == keyPolicy && one.pattern == "":
			notes = append(notes, fmt.Sprintf("%s: %s: %s is by arguments or annotations, which wharf does not look at; forbid the tool with disabled_tools, if you mean all of it", one.file, keyPolicy, one.rule))
		case one.pattern == "" && strings.HasPrefix(one.rule, "Mcp("):
			notes = append(notes, fmt.Sprintf("%s: %s: %s is not understood; Cursor has Mcp(SERVER:TOOL)", one.file, keyDeny, one.rule))
		case one.pattern == "":
			notes = append(notes, fmt.Sprintf("%s: %s: %s is by arguments, which wharf does not look at; forbid the tool with disabled_tools, if you mean all of it", one.file, keyDeny, one.rule))
		case !one.fits:
			notes = append(notes, fmt.Sprintf("%s: %s: %s is about no server that is read here", one.file, one.key, one.rule))
		}
	}
	return notes
}
