package step

// Manifest describes a provider in its own words.
type Manifest struct {
	ABI      string    `json:"abi"` // Version
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	About    string    `json:"about,omitempty"` // one line
	Settings []Setting `json:"settings,omitempty"`
	Wants    Wants     `json:"wants"`
}

// The kinds of settings.
const (
	SettingText  = "text"
	SettingList  = "list"  // of texts
	SettingTable = "table" // of texts by name
	SettingFlag  = "flag"
)

// Setting is a key of the auth table of a server entry.
type Setting struct {
	Key      string `json:"key"`
	Kind     string `json:"kind,omitempty"` // "" is text
	About    string `json:"about"`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"` // its value must not be shown to a person
}

// Wants names what a provider needs to be granted. The host refuses an action that is not in it,
// whatever the user granted.
//
// An origin that is known beforehand goes into Origins. An origin that is a setting, or that the
// provider learns of on the way, needs Discover. With it, the host lets the provider call every
// public https origin, and the user may grant any other origin by its name, such as
// "http://127.0.0.1:8080" (`wharf plugin grant`, or origins in the [plugins] table). Without
// Discover, only those of Origins can be granted.
type Wants struct {
	Origins  []string `json:"origins,omitempty"`  // that it calls, known beforehand: "https://sso.example"
	Discover bool     `json:"discover,omitempty"` // it calls public https origins that it learns of on the way
	Browser  bool     `json:"browser,omitempty"`  // listen and open_browser
	Prompt   bool     `json:"prompt,omitempty"`   // prompt and show
	Run      bool     `json:"run,omitempty"`
	Keys     bool     `json:"keys,omitempty"`
	Requests bool     `json:"requests,omitempty"` // it signs each request by itself
	Body     bool     `json:"body,omitempty"`     // it is shown the body of each request that it signs
	Material bool     `json:"material,omitempty"`
}
