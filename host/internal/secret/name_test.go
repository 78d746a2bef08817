package secret

import "testing"

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{ // as a key, as a flag
		"token": {true, true}, "access_token": {true, true}, "GITHUB_TOKEN": {true, true}, "githubtoken": {true, true},
		"Authorization": {true, true}, "api key": {true, true}, "apiKey": {true, true}, "x-api-key": {true, true},
		"password": {true, true}, "passwd": {true, true}, "client_secret": {true, true}, "Set-Cookie": {true, true},
		"auth": {true, true}, "--auth": {true, true}, "pass": {true, true}, "pwd": {true, true}, "MYSQL_PASS": {true, true}, "dbPwd": {true, true},
		"--db-pass": {true, true}, "GITHUB_PAT": {true, true}, "CONNECTION_STRING": {true, true}, "privateKey": {true, true},

		"progressToken": {false, true}, "maxTokens": {false, true}, "input_tokens": {false, true},
		"token_type": {false, true}, "token_endpoint": {false, true}, "authorization_servers": {false, true},
		"key": {false, true}, "author": {false, true}, "compass": {false, false}, "bypass": {false, false}, "PASS_COUNT": {false, false},
		"OLDPWD": {false, false}, "pattern": {false, false},
		"": {false, false}, "name": {false, false}, "cursor": {false, false}, "__": {false, false},
	} {
		if got := [2]bool{Key(name), Flag(name)}; got != want {
			t.Errorf("%q: key and flag are %v; want %v", name, got, want)
		}
	}
}
