package secret

import "testing"

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{ // as a key, as a flag
		"token": {true, true}, "access_token": {true, true}, "GITHUB_TOKEN": {true, true}, "githubtoken": {true, true},
		"Authorization": {true, true}, "api key": {true, true}, "apiKey": {true, true}, "x-api-key": {true, true},
		"password": {true, true}, "passwd": {true, true}, "client_secret": {true, true}, "Set-Cookie": {true, true},
		"auth": {true, true}, "--auth": {true, true}, "pass": {true, true}, "pwd": {true, true}, "MYSQL_PASS": {true, true}, "dbPwd": {true, true},
		"--db-pass": {true, true}, "GITHUB_PAT": {true, true}, "CONNECTION_STRING": {true, true}, "privateKey": {true, true},

		"progressToken": {false, false}, "maxTokens": {false, false}, "input_tokens": {false, false},
		"token_type": {false, false}, "token_endpoint": {false, false}, "authorization_servers": {false, false},
		"key": {false, true}, "author": {false, false}, "compass": {false, false}, "bypass": {false, false}, "PASS_COUNT": {false, false},
		"OLDPWD": {false, false}, "pattern": {false, false},
		"": {false, false}, "name": {false, false}, "cursor": {false, false}, "__": {false, false},
	} {
		if got := [2]bool{Key(name), Flag(name)}; got != want {
			t.Errorf("%q: key and flag are %v; want %v", name, got, want)
		}
	}
}

// Nothing that is a secret may stay in the clear at an import, and what is none should stay readable.
func TestNamed(t *testing.T) {
	for _, name := range []string{
		"GITHUB_PERSONAL_ACCESS_TOKEN", "API_KEY", "FIGMA_API_KEY", "apikey", "APIKEY", "OPENAI_APIKEY", "APITOKEN", "githubtoken", "DB_PASSWORD", "PGPASSWORD",
		"GITHUB_PAT", "githubPat", "PAT", "AUTH", "BASIC_AUTH", "MYSQL_PWD", "DB_PASS", "REDIS_PASS_2", "TOKEN2", "API_KEY_1", "API_KEYS", "API_TOKENS", "clientSecret",
		"AWS_SECRET_ACCESS_KEY", "STRIPE_SECRET", "SSH_PASSPHRASE", "AZURE_STORAGE_CONNECTION_STRING", "SESSION_COOKIE", "JWT", "Authorization", "X-Api-Key", "X-Auth-Token",
		"GOOGLE_CREDENTIALS", "SECRETS", "encryptionKey", "KEY", "OTP",
	} {
		if !Named(name, "s3cret-Value9") {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, given := range [][2]string{
		{"DB_PASSWORD", "12345678"}, {"DB_PASSWORD", "1234"}, {"PGPASSWORD", "/home/x"}, {"DB_PASS", "none"}, {"TOKEN", "123456789"}, {"PASSWORD", "pa$$ ${X}"},
		{"AUTH_HEADER", "Bearer s3cret"}, {"X", "Basic dTpw"}, {"GITHUB_PAT", "ghp_x"}, {"API_KEY", "${X:-s3cret}"}, {"WORDPRESS_AUTH", "me:s3cret"},
	} {
		if !Named(given[0], given[1]) {
			t.Errorf("%s=%s is no secret", given[0], given[1])
		}
	}
	for _, given := range [][2]string{
		{"AUTHOR", "Ada"}, {"AUTHORITY", "https://login.example"}, {"KEYBOARD", "us"}, {"MONKEY", "see"}, {"MAX_TOKENS", "4096"}, {"MAX_TOKENS", "100000"}, {"maxOutputTokens", "many"}, {"TOKENS", "100000"},
		{"TOKENIZER", "gpt2"}, {"TOKENIZERS_PARALLELISM", "maybe"}, {"USE_AUTH", "true"}, {"USE_AUTH", "1"}, {"USE_AUTH", "no"}, {"LOG_PAT", "*.log"}, {"LOG_PAT", "^a|b$"}, {"PATTERN", "x"}, {"PATH", "/bin"},
		{"KEY_PATH", "/k"}, {"keyPath", "k"}, {"API_KEY_FILE", "k.txt"}, {"SSH_KEYFILE", "k"}, {"GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/key.json"}, {"PRIVATE_KEY", "~/.ssh/id"},
		{"COOKIECUTTER", "x"}, {"SECRETARY", "x"}, {"COMPASS", "n"}, {"BYPASS", "all"}, {"PWD", "/x"}, {"TOKEN_TYPE", "jwt"}, {"AUTH_MODE", "device"}, {"TOKEN_LIMIT", "5"},
		{"API_KEY", ""}, {"API_KEY", "${X}"}, {"API_KEY", "$${X}"}, {"API_KEY", "Bearer ${env:X:-}"}, {"DB_PASSWORD", ""}, {"DB_PASSWORD", "${X:-$X}"}, {"ENABLE_PASSWORD", "false"}, {"MODE", "basic"},
	} {
		if Named(given[0], given[1]) {
			t.Errorf("%s=%s is a secret", given[0], given[1])
		}
	}
}
