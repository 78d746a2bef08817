package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/listener"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/plugins"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [SERVER | -- COMMAND…]",
		Short: "Say how Wharf is set up on this machine, or what is wrong with a server",
		Long: `Say how Wharf is set up on this machine: which files it reads and keeps, and
what keeps your secrets, whether the audit log can be written, whether the commands
of your servers are found and their variables are set, whether your rules of access
are about servers that there are, and which files of other clients there are. Nothing
is started, and no secret is shown. The exit code is 2 when it finds a problem.

With a SERVER, a url or a command after -- it starts that as every command does, lists
its tools, and says which step failed, and what to type next: its entry, the plugin,
the command or the way to the address, the messages, the handshake, the tools. The exit
code is that of the step.`,
		Example: "  wharf doctor\n  wharf doctor github\n  wharf doctor -- npx -y @modelcontextprotocol/server-everything",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 || cmd.ArgsLenAtDash() >= 0 {
				return a.runDoctorOf(cmd, args)
			}
			return a.runDoctor(cmd)
		},
		ValidArgsFunction: a.completeServers,
	}
}

// finding is the outcome of one check.
type finding struct {
	What    string `json:"what"`
	Value   string `json:"value"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) runDoctor(cmd *cobra.Command) error {
	findings := []finding{{What: "platform", Value: runtime.GOOS + "/" + runtime.GOARCH}}
	s, err := a.load()
	if err != nil {
		findings = append(findings, finding{"configuration", a.flags.config, err.Error()})
	} else {
		f := finding{What: "configuration", Value: s.place()}
		if s.unread != nil {
			f.Problem = s.unread.Error()
		}
		findings = append(findings, f, finding{What: "servers", Value: fmt.Sprint(len(s.shown()))})
	}
	if err == nil {
		s.project()
		a.warnOf(s)
		a.noteOf(s)
	}
	findings = append(findings, a.cacheFinding())
	if err == nil { // else it is not known which vault is meant
		findings = append(findings, a.vaultFinding())
		findings = append(findings, auditFindings(s)...)
		findings = append(findings, a.entryFindings(cmd.Context(), s)...)
	}
	findings = append(findings, clientFindings()...)
	var problems problemError
	rows := plain.Table{{"WHAT", "IS"}}
	for _, f := range findings {
		value := f.Value
		if f.Problem != "" {
			problems = append(problems, f.What)
			value = coloned(value, f.Problem)
		}
		rows = append(rows, []string{f.What, plain.Line(value)})
	}
	if err := a.printList(findings, rows); err != nil {
		return err
	}
	switch {
	case !a.forPeople():
	case err != nil || s.unread != nil: // no command could
		fmt.Fprint(a.Err, a.Own("Nothing was started."))
	default:
		fmt.Fprint(a.Err, a.Own("Nothing was started; `wharf servers --status` tries the servers."))
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// problemError names what has a problem.
type problemError []string

func (e problemError) Error() string { return "there is a problem with: " + strings.Join(e, ", ") }

// Is makes the error one of the configuration, which decides the exit code.
func (e problemError) Is(target error) bool { return target == host.ErrConfig }

// entryFindings checks the servers of the configuration and of the project, and the plugins.
func (a *app) entryFindings(ctx context.Context, s *settings) (findings []finding) {
	for _, server := range s.shown() {
		f := finding{What: "server " + server.Name, Value: server.Target()}
		if server.Project != nil {
			f.Value += " (of " + server.Project.Path() + ")"
		}
		if server.Disabled {
			f.Value += " (disabled)"
		} else if server.Project == nil { // mistakes in a project's entries are not for the user to mend
			f.Problem = a.withConfig(cmp.Or(a.entryProblem(s, server), a.transportProblem(ctx, s, server), a.settingsProblem(ctx, server)))
		}
		findings = append(findings, f)
	}
	for _, name := range slices.Sorted(maps.Keys(s.leftOut)) {
		if wrong := s.leftOut[name]; wrong != errDemoHidden {
			findings = append(findings, finding{"server " + name, s.path, wrong.Error() + "; it is left out"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.refused)) {
		findings = append(findings, finding{What: "server " + name, Value: "left out of " + s.refused[name].Error()})
	}
	for _, name := range slices.Sorted(maps.Keys(s.plugins)) {
		if file := s.plugins[name].File; file != "" {
			findings = append(findings, finding{"plugin " + name, file, pluginProblem(s.plugins[name])})
		}
	}
	if s.serve != nil && s.serve.TLS.Cert != "" {
		f := finding{What: "serve.tls", Value: s.serve.TLS.Cert}
		if err := listener.CheckTLS(s.serve.TLS.Cert, s.serve.TLS.Key, s.serve.TLS.ClientCA, s.serve.Hosts); err != nil {
			f.Problem = err.Error()
		}
		findings = append(findings, f)
	}
	return append(findings, a.ruleFindings(s)...)
}

// ruleFindings looks for rules of the user's own file that name no server: a deny with a misspelt name forbids
// nothing. Rules of a project are not for the user to mend.
func (a *app) ruleFindings(s *settings) (findings []finding) {
	servers := a.serversOfRules(s)
	check := func(what, place string, each func(wrong func(key, problem string), stranger func(key string, i int, server string))) {
		before := len(findings)
		wrong := func(key, problem string) {
			findings = append(findings, finding{what + " " + key, place, a.withConfig(problem)})
		}
		each(wrong, func(key string, i int, server string) {
			wrong(fmt.Sprintf("%s[%d]", key, i), noServer(server, servers))
		})
		if len(findings) == before {
			findings = append(findings, finding{What: what, Value: place})
		}
	}
	for _, table := range s.access {
		check("access "+table.Name, table.Place, func(_ func(string, string), stranger func(string, int, string)) { table.Strangers(servers, stranger) })
	}
	for _, p := range s.policies {
		check("policy "+p.Name, p.Place, func(wrong func(string, string), stranger func(string, int, string)) {
			if problem := noPolicy(p.Plugin, s.plugins); problem != "" {
				wrong("plugin", problem)
			}
			for i, server := range p.Servers {
				if !policy.FitsAny(server, servers) {
					stranger("servers", i, server)
				}
			}
		})
	}
	return findings
}

// serversOfRules returns the names that a rule of the user's own file may mean: of the servers here, of
// entries that cannot be used, and of servers of other projects that the user has decided on.
func (a *app) serversOfRules(s *settings) []string {
	names := slices.AppendSeq(s.names(), maps.Keys(s.leftOut))
	if s.chosen {
		return names
	}
	store, err := a.trust()
	if err != nil {
		return names // there is no folder for decisions
	}
	records, _ := store.Records() // `wharf trust list` tells of an error
	for _, r := range records {
		names = append(names, r.Entry.Server)
	}
	return names
}

// noServer says that a pattern of a rule is about no server, and which is probably meant.
func noServer(pattern string, servers []string) string {
	if strings.Contains(pattern, "*") {
		return fmt.Sprintf("no server has a name that fits %q; `wharf servers` lists them", pattern)
	}
	if near := meant(pattern, servers); near != "" {
		return fmt.Sprintf("no server is called %q; did you mean %q?", pattern, near)
	}
	return fmt.Sprintf("no server is called %q; `wharf servers` lists them", pattern)
}

// entryProblem says which part of an entry cannot work, or returns "". It starts nothing, and
// opens no secret.
func (a *app) entryProblem(s *settings, server host.Server) string {
	if s.servesItself(server) {
		return "it starts wharf, which has it as a server: take it out"
	}
	if err := server.CheckVariables(os.LookupEnv); err != nil {
		return err.Error()
	}
	server, err := server.Expand(os.LookupEnv)
	if err != nil {
		return err.Error()
	}
	if _, built := plugins.Builtin()[server.Via()]; !built && s.plugins[server.Via()].File == "" {
		if ours := config.TransportOf(server.Via()); ours != "" {
			return fmt.Sprintf("there is no plugin %q; write transport = %q", server.Via(), ours)
		}
		if meant := config.TransportMeant(server.Via()); meant != "" {
			return fmt.Sprintf("there is no plugin %q; did you mean transport = %q?", server.Via(), meant)
		}
		return strings.TrimSuffix(fmt.Sprintf("there is no plugin %q; %s", server.Via(), installing(server.Via())), "; ")
	}
	provider := server.Auth.Provider
	if _, built := plugins.Builtin()[provider]; !built && provider != "" && provider != config.AuthNone && s.plugins[provider].File == "" {
		return fmt.Sprintf("no auth provider is called %q", provider)
	}
	if server.Command != "" {
		_, err = host.Locate(server)
	}
	for _, command := range [][]string{server.Auth.Command, server.Sampler} {
		if len(command) > 0 && err == nil {
			_, err = host.Locate(host.Server{Command: command[0], Args: command[1:]})
		}
	}
	if err != nil {
		return err.Error()
	}
	problem := missingFile(server)
	if err := host.CheckTLS(server); err != nil && problem == "" {
		problem = "tls: " + err.Error()
	}
	return cmp.Or(problem, a.keepers().MissingSecret(server))
}

// keepers know what is kept of servers beside the configuration. Without a folder for approvals, no
// server of a project is approved.
func (a *app) keepers() inventory.Keepers {
	t, _ := a.trust()
	return inventory.Keepers{Trust: t, Vault: a.vault, Asks: a.CanAsk()}
}

// runsFirst maps programs to the endings of the files that they run. Such a program runs its first
// argument if that is no flag. Other arguments need not be files that exist.
var runsFirst = map[string][]string{
	"node": {".js", ".mjs", ".cjs"}, "bun": {".ts", ".js"}, "python": {".py"}, "python3": {".py"}, "ruby": {".rb"}, "sh": {".sh"}, "bash": {".sh"},
}

// scriptOf returns the script that the interpreter of an entry runs, or "" if that is not
// certain. A relative path counts from the folder in which the process starts.
func scriptOf(server host.Server) string {
	endings := runsFirst[strings.TrimSuffix(filepath.Base(server.Command), ".exe")]
	if len(server.Args) == 0 || strings.HasPrefix(server.Args[0], "-") || !slices.Contains(endings, filepath.Ext(server.Args[0])) {
		return ""
	}
	if filepath.IsAbs(server.Args[0]) {
		return server.Args[0]
	}
	path, _ := filepath.Abs(filepath.Join(server.Dir, server.Args[0]))
	return path
}

// missingFile names the first file that an entry names and that does not exist.
func missingFile(server host.Server) string {
	files := [][2]string{{"dir", server.Dir}, {"tls.ca", server.TLS.CA}, {"tls.cert", server.TLS.Cert}, {"tls.key", server.TLS.Key}}
	if server.EnvFile != "" {
		if _, err := os.Stat(server.EnvPath()); err != nil {
			return server.EnvError(err).Error()
		}
	}
	if missing := inventory.MissingFile(server); missing != "" {
		return missing
	}
	files = append(files, [2]string{"args[0]", scriptOf(server)})
	for _, file := range files {
		if file[1] == "" {
			continue
		}
		if _, err := os.Stat(file[1]); err != nil {
			if file[0] == "args[0]" && server.Dir == "" && !filepath.IsAbs(server.Args[0]) {
				return fmt.Sprintf("args[0]: there is no %s in the folder that wharf was started in; write its whole path", server.Args[0])
			}
			return fmt.Sprintf("%s: %v", file[0], err)
		}
	}
	return ""
}

// clientFindings lists the files of other clients. A file that cannot be read counts as no
// problem, because this configuration does not depend on it.
func clientFindings() (findings []finding) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	found, _ := config.FindClients(cwd)
	for _, c := range found {
		f := finding{What: "client " + c.ID, Value: c.Path}
		if c.Err != nil {
			f.Value += ": cannot be read: " + c.Err.Error()
		} else {
			f.Value += ": " + counted(len(c.File.Servers), "server")
		}
		findings = append(findings, f)
	}
	return findings
}

// cacheFinding warns where nothing can be kept in the cache folder: all works without it, and takes longer.
func (a *app) cacheFinding() finding {
	f := finding{What: "cache", Value: "none"}
	dir, err := host.DefaultCacheDir()
	if err == nil {
		f.Value, err = dir, host.CheckCache(dir)
	}
	if err != nil {
		f.Value += " (not used)"
		a.Warn("nothing is kept in the cache folder, so that plugins are compiled anew each time: %v", err)
	}
	return f
}

// auditFindings opens the audit log, as every command does that may call. If that fails, the settings lose the log:
// the hosts of other checks, which call nothing, would each say the same.
func auditFindings(s *settings) []finding {
	if s.audit == nil {
		return nil
	}
	f := finding{What: "audit log", Value: s.audit.File}
	log, err := audit.Open(s.audit.File, audit.Options{Required: s.audit.Required})
	if err == nil {
		err = log.Ready()
	}
	log.Close()
	if err != nil {
		f.Problem = strings.TrimPrefix(err.Error(), "audit log: ")
		if s.audit.Required {
			f.Problem += "; required = true in [audit], so no call is made without it"
		}
		s.audit = nil
	}
	return []finding{f}
}

func (a *app) vaultFinding() finding {
	v, err := a.vault()
	if err != nil {
		return finding{"vault", "none", err.Error()}
	}
	status := v.Status()
	problem := status.Problem
	status.Problem = ""
	return finding{"vault", vaultLine(status), problem}
}
