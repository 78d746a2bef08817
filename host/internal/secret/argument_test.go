package secret

import (
	"strings"
	"testing"
)

// marked returns a command line in which [NAME] stands for each part that looks like a secret.
func marked(args []string) string {
	parts := Arguments(args)
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = Replace(arg, parts[i], func(p Part, _ string) string { return "[" + p.Name + "]" })
	}
	return strings.Join(out, "|")
}

func TestArguments(t *testing.T) {
	const github, openai = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk-proj-abcDEF1234567890abcDEF"
	for args, want := range map[string]string{
		// Flags and variables.
		"--api-key|s3cret":                "--api-key|[api-key]",
		"--api-key=s3cret=":               "--api-key=[api-key]",
		"--key|s3cret|rest":               "--key|[key]|rest",
		"--sshKey=s3cret":                 "--sshKey=[sshKey]",
		"--pass|open sesame":              "--pass|[pass]",
		"--github-pat=s3cret":             "--github-pat=[github-pat]",
		"-e|GITHUB_TOKEN=s3cret word":     "-e|GITHUB_TOKEN=[GITHUB_TOKEN]",
		"-eGITHUB_TOKEN=s3cret":           "-eGITHUB_TOKEN=[eGITHUB_TOKEN]",
		"--env=API_KEY=s3cret":            "--env=API_KEY=[API_KEY]",
		"host=h password=s3cret dbname=d": "host=h password=[password] dbname=d",
		"password=s3cret host=h":          "password=[password] host=h",
		"Server=h;Password=s3cret;":       "Server=h;Password=[Password];",
		"--password|$ecret":               "--password|[password]",
		"--password|${P:-s3cret}":         "--password|[password]",
		"--auth|u:s3cret":                 "--auth|[auth]",

		// A user and a password; but not a group, a port, or a package.
		"-u|me:s3cretPass":          "-u|me:[password]",
		"--user|me:s3cretPass":      "--user|me:[password]",
		"-u|me|-p|s3cretPass":       "-u|me|-p|[password]",
		"-u|redis://:s3cretPass@h":  "-u|redis://:[password]@h",
		"-u|1000:1000":              "-u|1000:1000",
		"-u|node:node":              "-u|node:node",
		"-u|me|-p|8080:80/tcp":      "-u|me|-p|8080:80/tcp",
		"-u|me|-p|10080":            "-u|me|-p|10080",
		"-p|s3cretPass":             "-p|s3cretPass",
		"-u|me|-p|@a/tool2@1.0.0|x": "-u|me|-p|@a/tool2@1.0.0|x",

		// Headers.
		"--header|Authorization: Bearer s3cret": "--header|Authorization: [Authorization]",
		"--header|Authorization:${AUTH}":        "--header|Authorization:${AUTH}",
		"-H|X-Api-Key:abc":                      "-H|X-Api-Key:[X-Api-Key]",
		"--header=X-Api-Key:abc":                "--header=X-Api-Key:[X-Api-Key]",
		"-HCookie: a=b; c=d":                    "-HCookie: [Cookie]",
		"X-Api-Key:s3cretPassw0rd":              "X-Api-Key:[X-Api-Key]",
		"password: x1":                          "password: [password]",
		"Authorization:$${AUTH_HEADER}":         "Authorization:$${AUTH_HEADER}",
		"--header|Authorization:$${AUTH}":       "--header|Authorization:$${AUTH}",
		"-H|Authorization:Bearer ${T:-}":        "-H|Authorization:Bearer ${T:-}",
		"-H|Accept: text/html":                  "-H|Accept: text/html",
		"-H|Authorization: Bearer ${TOKEN}":     "-H|Authorization: Bearer ${TOKEN}",

		// URLs.
		"postgresql://u:s3cret@h/db":                     "postgresql://u:[password]@h/db",
		"mongodb+srv://u:p@ss@h/?a=b":                    "mongodb+srv://u:[password]@h/?a=b",
		"--database-url=postgres://u:s3cret@h/d":         "--database-url=postgres://u:[password]@h/d",
		"--auth-url|https://u:s3cret@h":                  "--auth-url|https://u:[password]@h",
		"--key|redis://:s3cret@h":                        "--key|redis://:[password]@h",
		"https://s3cret@h/mcp":                           "https://[password]@h/mcp",
		"https://h/mcp?user=u&api_key=s3cret&b=c#d":      "https://h/mcp?user=u&api_key=[api_key]&b=c#d",
		"ssh://git@github.com/a/b":                       "ssh://git@github.com/a/b",
		"https://h/a@b":                                  "https://h/a@b",
		"https://u:pa/ss@h/mcp":                          "https://u:[password]@h/mcp",
		"--dsn=mysql://u:p4?s#s/w@h:3306/db?x=a@b":       "--dsn=mysql://u:[password]@h:3306/db?x=a@b",
		"redis://:9x/y@h|https://h:8080/@scope/pkg":      "redis://:[password]@h|https://h:8080/@scope/pkg",
		"https://h:${PORT}/a@b|https://[fe80::a]:80/a@b": "https://h:${PORT}/a@b|https://[fe80::a]:80/a@b",
		"mongodb://h:1,g:2/d?u=a@b|https://h:/a@b":       "mongodb://h:1,g:2/d?u=a@b|https://h:/a@b",
		"postgres://u:${PASSWORD}@h":                     "postgres://u:${PASSWORD}@h",
		"https://h/mcp?api_key=${secret:h/k}&token=${T}": "https://h/mcp?api_key=${secret:h/k}&token=${T}",
		"https://h/mcp?api_key=${K:-s3 cret}&token=x":    "https://h/mcp?api_key=[api_key]&token=[token]",
		"https://h/mcp?api_key=$${K}":                    "https://h/mcp?api_key=$${K}",
		"https://h/mcp?api_key=s3${K}&a=b":               "https://h/mcp?api_key=[api_key]&a=b",
		"https://h/mcp?api_key=s3${K&a=b":                "https://h/mcp?api_key=[api_key]&a=b",

		// JSON.
		`--config|{"apiKey":"s3cret","n":"me"}`:               `--config|{"apiKey":"[apiKey]","n":"me"}`,
		`--config={"a":{"Authorization": "Bearer s3\"cret"}}`: `--config={"a":{"Authorization": "[Authorization]"}}`,
		`{"maxTokens":"12345","tokenUrl":"https://h"}`:        `{"maxTokens":"12345","tokenUrl":"https://h"}`,

		// Tokens.
		github:                              "[token]",
		"sh|-c|x " + openai + " y":          "sh|-c|x [token] y",
		"github_pat_11ABCDEFG0abcdefghijkl": "[token]",
		"xoxb-123456789012-abcdefghijkl":    "[token]",
		"AKIAIOSFODNN7EXAMPLE":              "[token]",
		"https://h/" + github + "/mcp":      "https://h/[token]/mcp",
		"--x=" + github:                     "--x=[token]",

		// Nothing of this is a secret.
		"-y|@scope/server-token|/home/u/secret/keys":            "",
		"--token|--verbose":                                     "",
		"--token|${TOKEN}":                                      "",
		"--key|~/.ssh/id_rsa|--key-file=/etc/x|--key|a/b.pem":   "",
		"--max-tokens|4096|--max-tokens=4096":                   "",
		"--author|me|--keyboard|us|--monkey=see":                "",
		"--auth|oauth|--auth=none|--auth-mode|device":           "",
		"--token-env|GITHUB_TOKEN|--api-key-header=X-Key":       "",
		"run|-v|keys:/data|-p|8080:80|secret-server:1.2.3-slim": "",
		"ghcr.io/github/github-mcp-server:0.5":                  "",
		"sk-learn-server-with-a-long-name":                      "",
		"token|password":                                        "",
		`C:\Keys\my key.txt`:                                    "",
		"sh|-c|TOKEN=$(cat /run/token) KEY=$KEY exec server":    "",
		"sh|-c|A=b TOKEN=$(cat /run/token) exec server":         "",
		"": "",
	} {
		if want == "" {
			want = args
		}
		if got := marked(strings.Split(args, "|")); got != want {
			t.Errorf("%s:\n got %s\nwant %s", args, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(`--env=API_KEY=x {"token":"a"} https://u:p@h?key=b Authorization: c`)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, p := range Text(text) {
			if p.Begin < end || p.End <= p.Begin || p.End > len(text) {
				t.Fatalf("%q: a part from %d to %d, behind %d", text, p.Begin, p.End, end)
			}
			end = p.End
		}
	})
}
