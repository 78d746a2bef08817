package config

// Key is a key of Wharf's own file. The reader of files uses the tables of keys: a key that
// is in none of them is an error in a file.
type Key struct {
	Name    string
	Type    string // text, list of texts, table of texts, true or false, duration, list of durations, number, size, table
	Default string // what its absence means
	Meaning string
	Example string // a line of TOML
}

// Table is a table of Wharf's own file, and its keys.
type Table struct {
	Name    string // "[servers.NAME]"
	Meaning string
	Keys    []Key
	Open    bool // other keys are settings, for a plugin to read
}

// Tables returns the tables of Wharf's own file.
func Tables() []Table {
	return []Table{
		{Name: "(the file)", Meaning: "A file has nothing but these.", Keys: rootKeys},
		{Name: "[reconnect]", Meaning: "When a server is tried again that could not be reached, or whose connection was lost.", Keys: reconnectKeys},
		{Name: "[servers.NAME]", Meaning: "A server, and the grant of what its transport may reach: its command, url or address, and nothing else. " +
			"In its texts `${NAME}` or `${env:NAME}` is the variable NAME, `${NAME:-text}` has a default, `${?NAME}` leaves a variable or a header out where NAME is not set, `${secret:NAME}` is a secret of `wharf auth secret`, and `${file:PATH}` is what is in a file, both read anew for each connection and when a server refuses a header; `$$` is one dollar sign, so `pa$$$$word` is the password pa$$word; before anything but `{` and `$` a single one does too. A relative path counts from the folder of the configuration.", Keys: serverKeys},
		{Name: "servers.NAME.tls", Meaning: "How a server over TLS is known, and what it is shown. Files hold PEM.", Keys: tlsKeys},
		{Name: "servers.NAME.auth", Meaning: "How a server is signed in to. A text is the name of the provider. " +
			"All other keys are settings of the provider; each may be `{ env = \"NAME\" }`, `{ file = \"PATH\" }` or `{ secret = \"NAME\" }`, which are read anew when the server refuses what they gave. " +
			"With `oauth`, entries with the same `url` have one sign-in together if they sign in in the same way. Each has its own where one of these differs: " +
			"`account`, `client_id`, `client_metadata_url`, `grant`, `scopes`, `resource`, `authorization_server`, `metadata_url`, `authorize_params`, `dpop`, `idp_token_endpoint`, `idp_client_id`, or whom `jwt` or `id_token` is about. " +
			"`account` is a name of your choice, for two accounts at one server. " +
			"A sign-in of a version that had one for all such entries goes to the first entry that is used and that it fits.", Keys: authKeys, Open: true},
		{Name: "servers.NAME.registry", Meaning: "Where an entry was made from. `wharf add` writes it, and `wharf update` goes by it.", Keys: registryKeys},
		{Name: "[access.NAME]", Meaning: "Who may call what. A caller may not call what any of the tables denies that fit it. Where one of them has an `allow`, it may call what they allow and nothing else; where none has, the user who runs wharf may call everything, and another principal nothing. " +
			"What may not be called is not listed. In the file of a project, tables only narrow what your own file allows; while such a file cannot be read, nothing is called there. Beside a file that `--config` names, no other is read. `wharf acl check` says which rule decides, and `wharf doctor` which rules are about no server.", Keys: accessKeys},
		{Name: "[policy.NAME]", Meaning: "A plugin that decides on calls: it is shown a call, and allows it, denies it, or wants a person to be asked. It can do nothing else. What it denies is not listed. It is asked about what `[access.NAME]` allows, for every way to call. If it breaks, the call is denied. It counts in your own file alone.", Keys: policyKeys},
		{Name: "[audit]", Meaning: "Where a line is kept for each call: who called what, whether it was allowed, how it ended and how long it took. `wharf audit` shows them. Without the table nothing is kept; one in the file of a project does not count.", Keys: auditKeys},
		{Name: "[serve]", Meaning: "How `wharf serve --http` serves clients of other machines. At an address that these can reach it starts only with TLS and with a way for clients to prove who they are. " +
			"Only your own file may have this table. A principal may call what a table of access allows it, and nothing else.", Keys: serveKeys},
		{Name: "serve.tls", Meaning: "Files in PEM. Relative paths count from the folder of the configuration.", Keys: serveTLSKeys},
		{Name: "serve.oauth", Meaning: "Which access tokens are accepted: JWTs that an issuer has signed for this address, with an asymmetric key. Clients find the issuer by the metadata of RFC 9728, and sign in there.", Keys: serveOAuthKeys},
		{Name: "[plugins.NAME]", Meaning: "A plugin that is a file of yours, or how an installed one is run. `wharf plugin add` needs no entry.", Keys: pluginKeys},
	}
}

// keys are the keys of one table.
type keys []Key

func (k keys) names() []string {
	names := make([]string, len(k))
	for i, key := range k {
		names[i] = key.Name
	}
	return names
}

var rootKeys = keys{
	{"servers", "table", "none", "The servers, a table for each.", `[servers.files]`},
	{"plugins", "table", "none", "The plugins, a table for each.", `[plugins.pigeon]`},
	{"access", "table", "none", "Who may call what, a table for each rule.", `[access.agents]`},
	{"policy", "table", "none", "Plugins that decide on calls, a table for each.", `[policy.readonly]`},
	{"audit", "table", "none is kept", "Where a line is kept for each call.", `[audit]`},
	{"serve", "table", "this machine alone", "How clients over HTTP are served; see below.", `[serve]`},
	{"reconnect", "table", "see below", "When a server that failed is tried again.", `[reconnect]`},
	{"max_timeout", "duration", "`1h`", "The longest wait for an answer, reports of progress or not; `0` is none.", `max_timeout = "3h"`},
}

var accessKeys = keys{
	{"match", "list of texts", "an error", "The callers that it is about: `client:NAME` is a client that calls itself so, `principal:NAME` one that has proven to be that principal, `local` every caller of the user who runs wharf, and `command`, `bridge`, `gateway` and `control` are the ways to call. `*` is all, and in a name any characters.", `match = ["client:claude*", "principal:ci-*"]`},
	{"allow", "list of texts", "see above", "What they may call, and nothing else: `SERVER/TOOL`, `prompt:SERVER/NAME`, `resource:SERVER/URI`, or `SERVER` for all of it. An empty list is nothing.", `allow = ["files", "issues/list_*", "prompt:issues/*"]`},
	{"deny", "list of texts", "none", "What they may not, whatever is allowed, in upper or lower case. A URI is compared in its normal form, so another spelling of it is denied too; one that a server may read in two ways, such as one with `%2F`, is denied where a `deny` is about resources of that server.", `deny = ["*/delete_*", "resource:files/file:///etc/*"]`},
}

var auditKeys = keys{
	{"file", "text", "`audit.jsonl`", "The log. A relative path counts from the folder of the configuration file, also of one that `--config` names. At 128 MiB it is renamed to FILE.1, in place of the one before.", `file = "/var/log/wharf/audit.jsonl"`},
	{"args", "text", "`hash`", "What is kept of arguments: `hash` is their size and SHA-256, `full` is all of up to 64 KiB, without the secrets of the configuration.", `args = "full"`},
	{"required", "true or false", "`false`", "Makes no call while a line cannot be written. 64 KiB of the disk are kept for calls under way, as `audit.jsonl.reserve` beside the log.", `required = true`},
}

var serveKeys = keys{
	{"hosts", "list of texts", "none", "The names and addresses by which clients reach it, without ports. Those of this machine, such as `localhost`, always count. A request with another Host is refused, and so is the page of another origin.", `hosts = ["mcp.example.com"]`},
	{"calls_per_minute", "number", "`600`", "How many requests each principal may send in a minute, and at once. More are answered with 429 and the time to wait. The user's own token has no bound.", `calls_per_minute = 120`},
	{"tls", "table", "none", "The certificates; see below.", `tls = { cert = "tls.pem", key = "tls.key", client_ca = "clients.pem" }`},
	{"oauth", "table", "no tokens", "The tokens that are accepted; see below. With client_ca too, a client needs both a certificate and a token.", `oauth = { resource = "https://mcp.example.com", issuer = "https://sso.example.com" }`},
}

var serveOAuthKeys = keys{
	{"resource", "text", "an error", "The origin by which clients reach it, without a path. Its host is one of `hosts`.", `resource = "https://mcp.example.com"`},
	{"issuer", "text", "an error", "Who signs the tokens. It names principals, so it is one.", `issuer = "https://sso.example.com"`},
	{"jwks", "text", "what the metadata of the issuer say", "The URL of its keys.", `jwks = "https://sso.example.com/keys"`},
	{"audience", "list of texts", "none", "Audiences of tokens beside the resource, and the resource with the path of a request, such as `https://mcp.example.com/mcp`.", `audience = ["api://mcp"]`},
	{"scopes", "list of texts", "none", "The scopes that a token must have, all of them.", `scopes = ["mcp"]`},
	{"principal", "text", "`sub`", "The claim that names the principal.", `principal = "client_id"`},
}

var serveTLSKeys = keys{
	{"cert", "text", "an error", "The certificate of the program, and those between it and its authority.", `cert = "/etc/ssl/mcp.pem"`},
	{"key", "text", "an error", "The key of that certificate.", `key = "/etc/ssl/private/mcp.key"`},
	{"client_ca", "text", "none", "The authorities of clients. With it, each client needs a certificate of one of them. Its only subject alternative name, a URI, a DNS name or an email address, is the principal, unless tokens name it.", `client_ca = "/etc/ssl/clients.pem"`},
}

var policyKeys = keys{
	{"plugin", "text", "an error", "The name of the plugin: of `[plugins.NAME]`, or of one that is installed.", `plugin = "readonly"`},
	{"servers", "list of texts", "all", "The servers that it decides on; `*` stands for any characters.", `servers = ["files", "db-*"]`},
	{"arguments", "true or false", "`false`", "Shows it the arguments of calls.", `arguments = true`},
	{"settings", "table", "none", "What the plugin itself reads. It is given no secret.", `settings = { allow = ["files/touch"] }`},
}

var reconnectKeys = keys{
	{"backoff", "list of durations", "`500ms`, `1s`, `2s`, `4s`", "The first waits. A wait is up to a quarter shorter or longer than it says.", `backoff = ["1s", "5s"]`},
	{"slow", "duration", "`1m`", "The wait after them. It doubles each time.", `slow = "30s"`},
	{"slow_max", "duration", "`5m`", "The longest of these waits.", `slow_max = "10m"`},
	{"calm", "duration", "`1m`", "How long a connection has to last before earlier failures are forgiven.", `calm = "2m"`},
	{"failures", "number", "`5`", "How many failures in a window are too many: the next try is then a window away, and calls fail at once until then. `0` is any number.", `failures = 10`},
	{"window", "duration", "`1m`", "The window in which failures are counted.", `window = "90s"`},
}

var serverKeys = keys{
	{"transport", "text", "`stdio` for a command, `http` for a url", "The plugin that carries the messages: `stdio`, `http`, `sse`, or one of yours.", `transport = "sse"`},
	{"command", "text", "none", "The program to start. A name is looked up in PATH. A relative path, such as `./run`, counts from `dir`, or else from the folder of the configuration.", `command = "npx"`},
	{"args", "list of texts", "none", "The arguments of the command, as they are: a word among them that is a path counts from where the process starts.", `args = ["-y", "@modelcontextprotocol/server-everything"]`},
	{"env", "table of texts", "none", "Variables of the process, beside the few that each server gets.", `env = { GITHUB_TOKEN = "${secret:github}" }`},
	{"env_file", "text", "none", "A file of more variables, `NAME=value` in each line. Those of `env` outrank it. A relative path counts from `dir` where that is a whole path, else from the folder of the configuration.", `env_file = "/home/me/.secrets/github"`},
	{"dir", "text", "the working folder", "The folder that the process starts in. A relative one counts from the folder of the configuration. `~/` at its start, as at that of `command` and `env_file`, is your home folder.", `dir = "~/notes"`},
	{"url", "text", "none", "The address of the server: `https://`, `http://`, `unix:///path/to/socket#/path` for HTTP over a socket, or `wss://` and `ws://` with `transport = \"websocket\"`, a plugin.", `url = "https://mcp.example.com/mcp"`},
	{"headers", "table of texts", "none", "Headers of each request. Those of the protocol, such as `Content-Type`, are not replaced.", `headers = { X-Team = "blue" }`},
	{"address", "text", "none", "The byte stream that a plugin speaks over: `unix:/path`, `tcp:host:port`, `tls:host:port`, or `memory:NAME` in a program that embeds Wharf.", `address = "unix:/run/loft.sock"`},
	{"proxy", "text", "what the environment says", "The proxy of a url; `direct` is none.", `proxy = "http://proxy.example:3128"`},
	{"tls", "table", "what the system trusts", "How a server over TLS is known, and what it is shown; see below.", `tls = { ca = "/etc/ssl/corp.pem" }`},
	{"auth", "text or table", "by the server's own challenge", "How the server is signed in to; see below.", `auth = "oauth"`},
	{"type", "text", "none", "Another name of `transport`, as other clients write it.", `type = "http"`},
	{"strategy", "text", "`http-first`", "Which transport of a url is tried: `http-first`, `sse-first`, `http-only` or `sse-only`.", `strategy = "http-only"`},
	{"timeout", "duration", "`30s`", "The longest wait for an answer or a report of progress; `0` is none. It outranks `WHARF_TIMEOUT_MS`. A call of a client of a gateway has none unless this says so, since the client has its own.", `timeout = "2m"`},
	{"start_timeout", "duration", "`60s`", "The longest wait until the server is ready for requests, without the time in which plugins are compiled; `0` is none. It outranks `WHARF_TIMEOUT_MS`.", `start_timeout = "3m"`},
	{"max_timeout", "duration", "that of the file", "The longest wait for an answer, reports of progress or not; `0` is none.", `max_timeout = "3h"`},
	{"ping", "duration", "`1m`, or never for a command that ends", "After how long without a message a server with no call to answer is asked for a sign of life, from `1s`; `0` is never. One that gives none twice is connected anew.", `ping = "30s"`},
	{"ping_timeout", "duration", "`10s`", "The longest wait for a sign of life.", `ping_timeout = "5s"`},
	{"idle_stop", "duration", "by its use, see `wharf serve --help`", "After how long without a request `wharf serve` and `wharf bridge` end the process of the command, which the next request starts again; `0` is never.", `idle_stop = "10m"`},
	{"resend", "true or false", "`false`", "Sends a call again after a lost connection, if the tool says that it is read-only or may be repeated.", `resend = true`},
	{"message_cap", "size", "`16MiB`", "The longest message of the server, from `1KiB` to `1GiB`.", `message_cap = "64MiB"`},
	{"framing", "text", "the plugin's own", "How messages are told apart on a stream: `ndjson`, `content-length` or `auto`.", `framing = "content-length"`},
	{"protocol", "text", "`auto`", "The revision to speak: `auto`, `legacy` (up to 2025-11-25) or `2026-07-28`.", `protocol = "legacy"`},
	{"settings", "table of texts", "none", "What the plugin itself reads.", `settings = { subject = "tools" }`},
	{"disabled", "true or false", "`false`", "Lists the server and never connects it. `[servers.demo]` with it hides the demo.", `disabled = true`},
	{"enabled_tools", "list of texts", "all", "The tools that may be listed and called; `*` in a name stands for any characters. An empty list is none.", `enabled_tools = ["read_file", "list_*"]`},
	{"disabled_tools", "list of texts", "none", "Tools that may not, whatever `enabled_tools` says; `*` in a name stands for any characters.", `disabled_tools = ["write_file", "delete_*"]`},
	{"sampler", "list of texts", "none", "A program and its arguments that answers for a model where the server asks for one, as that of `--sampler`, which goes first. On a terminal you agree to each question and answer.", `sampler = ["ask-a-model", "--small"]`},
	{"share", "text", "`auto`", "Whether clients of a gateway use one session with the server, for a command one process: `yes`, `client` for one each, or `auto`. That shares a command until the server asks what only one of the clients can answer, and has one each for all else. Clients of different users, or that offer different capabilities, share nothing, also with `yes`: a command such as `wharf call` offers more on a terminal than in a script. In a daemon the programs in one folder are the clients of a gateway.", `share = "client"`},
	{"copies", "number", "`8` for a command, `64` for all else", "How many sessions with the server the clients of one user of a gateway may have at once, from 1 to 1000.", `copies = 16`},
	{"registry", "table", "none", "Where the entry was made from; see below.", `registry = { name = "io.github.example/weather", version = "1.2.0" }`},
}

var tlsKeys = keys{
	{"ca", "text", "none", "A file of authorities that are trusted beside those of the system. Relative paths of these files count from the folder of the configuration.", `ca = "/etc/ssl/corp.pem"`},
	{"cert", "text", "none", "The client's own certificate.", `cert = "/home/me/client.pem"`},
	{"key", "text", "none", "The key of that certificate.", `key = "/home/me/client.key"`},
	{"name", "text", "the host of the url or address", "The name that the server's certificate is to have.", `name = "mcp.internal"`},
}

// authKeys are the keys of an auth table that Wharf reads itself; all others belong to the
// provider.
var authKeys = keys{
	{"provider", "text", "`oauth`", "The plugin that signs in: `oauth`, `bearer`, `helper`, one of yours, or `none`.", `provider = "bearer"`},
	{"command", "list of texts", "none", "A program that the provider may run, and its arguments.", `command = ["corp-token", "--json"]`},
	{"env", "table of texts", "none", "Variables of that program.", `env = { REGION = "eu" }`},
	{"variables", "list of texts", "none", "The variables of a server that is a process which hold the credential.", `variables = ["TOKEN"]`},
	{"blob", "true or false", "`false`", "Writes the credential ahead of the first message on a byte stream.", `blob = true`},
	{"request_body", "true or false", "`false`", "Shows the provider the body of each request that it signs, if it asks for that.", `request_body = true`},
}

var registryKeys = keys{
	{"address", "text", "the official registry", "The address of the registry.", `address = "https://registry.example"`},
	{"name", "text", "none", "The name of the server there.", `name = "io.github.example/weather"`},
	{"version", "text", "none", "The version that the entry was made from.", `version = "1.2.0"`},
	{"sha256", "text", "none", "The hash of what the registry said of that version.", `sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`},
}

var pluginKeys = keys{
	{"file", "text", "the plugin of that name that is installed or shipped, with `isolation` alone", "The module. A relative path counts from the folder of the configuration.", `file = "plugins/pigeon.wasm"`},
	{"sha256", "text", "none, and any file is taken", "The hash that `file` must have. `wharf plugin inspect FILE` prints it.", `sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`},
	{"origins", "list of texts", "none", "The origins that an auth provider in `file` may call; `wharf plugin grant` gives an installed one its own.", `origins = ["https://sso.example"]`},
	{"discover", "true or false", "`false`", "Lets an auth provider in `file` call each public https origin that it learns of on the way.", `discover = true`},
	{"isolation", "text", "`none`", "Where a transport runs: `none` is the process of the host, `process` one of its own.", `isolation = "process"`},
}
