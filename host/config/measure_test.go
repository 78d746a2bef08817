package config

import (
	"strings"
	"testing"
)

// A number where a duration or a size is expected is shown as one that is taken.
func TestMeasuresAreShownWithTheirUnit(t *testing.T) {
	for line, want := range map[string]string{
		`timeout = 30`:           `timeout: expected a duration, not a number; write timeout = "30s"`,
		`timeout = "30"`:         `timeout: "30" is no duration; write timeout = "30s"`,
		`timeout = 1.5`:          `timeout: expected a duration, not a number; write timeout = "1.5s"`,
		`ping = 0`:               `ping: expected a duration, not a number; write ping = "0"`,
		`timeout = 30000`:        `timeout: expected a duration, not a number; write timeout = "30s"`,
		`timeout = -1`:           `timeout: expected a duration, not a number; write timeout = "30s"`,
		`timeout = "soon"`:       `timeout: "soon" is no duration; write "30s", "2m" or "0" for none`,
		`timeout = true`:         `timeout: expected a duration, not true or false; write timeout = "30s"`,
		`message_cap = 64`:       `message_cap: expected a size, not a number; write message_cap = "64MiB"`,
		`message_cap = 16777216`: `message_cap: expected a size, not a number; write message_cap = "16MiB"`,
		`message_cap = 1024`:     `message_cap: expected a size, not a number; write message_cap = "1KiB"`,
		`message_cap = 65536`:    `message_cap: expected a size, not a number; write message_cap = "64KiB"`,
		`message_cap = 1500000`:  `message_cap: expected a size, not a number; write message_cap = "1500000B"`,
		`message_cap = "64"`:     `message_cap: "64" is no size from 1KiB to 1GiB; write message_cap = "64MiB"`,
		`message_cap = "64MB"`:   `message_cap: "64MB" is no size from 1KiB to 1GiB; write message_cap = "64MiB"`,
		`message_cap = "2 g"`:    `message_cap: "2 g" is no size from 1KiB to 1GiB; write message_cap = "16MiB"`,
		`message_cap = "512k"`:   `message_cap: "512k" is no size from 1KiB to 1GiB; write message_cap = "512KiB"`,
		`message_cap = 0`:        `message_cap: expected a size, not a number; write message_cap = "16MiB"`,
	} {
		_, err := Parse("x.toml", []byte("[servers.a]\ncommand = \"b\"\n"+line))
		if err == nil || err.Error() != "x.toml:3: server a: "+want {
			t.Errorf("%s: %v, want %s", line, err, want)
			continue
		}
		if _, right, _ := strings.Cut(err.Error(), "; write "); strings.Contains(right, " = ") {
			if _, err := Parse("x.toml", []byte("[servers.a]\ncommand = \"b\"\n"+right)); err != nil {
				t.Errorf("%s: the advice is refused: %v", line, err)
			}
		}
	}
	const json = `{"mcpServers":{"a":{"command":"b","messageCap":64}}}`
	f, err := Parse("x.json", []byte(json))
	if want := `; write "messageCap": "64MiB"`; err != nil || !strings.Contains(strings.Join(f.Warnings, "\n"), want) {
		t.Errorf("%v, %v, want %s", f, err, want)
	}
}
