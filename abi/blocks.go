package abi

// Grant names one thing that a plugin may open. What it stands for is the
// host's business: a guest never sees a command line, host or path.
type Grant struct {
	Kind OpenKind
	Name string
}

// Facts describes an outgoing message, so that a guest needs no JSON parser of its own. In a
// MESSAGE event the facts block comes first and the message follows it. A fact that a message
// does not have is empty.
type Facts struct {
	Kind    MessageKind
	ID      string // the raw JSON token; empty for notifications
	Method  string // empty for replies
	Name    string // params.name or params.uri, where there is one
	Version string // the negotiated protocol version; empty before the handshake
	Epoch   uint32 // counts handshakes, so that a guest recognizes a late failure of an old one
	Headers []Pair // headers that mirror parts of the message
}

const (
	factKind uint16 = iota + 1
	factID
	factMethod
	factName
	factVersion
	factEpoch
	factHeader
)

// AppendFacts appends f as a block.
func AppendFacts(dst []byte, f *Facts) []byte {
	dst, start := openBlock(dst)
	dst = appendU32(dst, factKind, uint32(f.Kind))
	dst = appendText(dst, factID, f.ID)
	dst = appendText(dst, factMethod, f.Method)
	dst = appendText(dst, factName, f.Name)
	dst = appendText(dst, factVersion, f.Version)
	dst = appendU32(dst, factEpoch, f.Epoch)
	dst = appendPairs(dst, factHeader, f.Headers)
	return closeBlock(dst, start)
}

// DecodeFacts reads the block at the start of b and nothing behind it.
func DecodeFacts(b []byte) (Facts, error) {
	var f Facts
	d := newDecoder("facts", b)
	for d.more() {
		d.u32(factKind, (*uint32)(&f.Kind))
		d.text(factID, &f.ID)
		d.text(factMethod, &f.Method)
		d.text(factName, &f.Name)
		d.text(factVersion, &f.Version)
		d.u32(factEpoch, &f.Epoch)
		d.pairs(factHeader, &f.Headers)
	}
	return f, d.err
}

// Settings is the payload of OPEN: the part of the user's server entry that is for this plugin,
// without anything that names a target.
type Settings struct {
	Server     string  // the server's name, for messages to people
	Values     []Pair  // settings = { … } of the entry, those that the manifest's Settings name; see Value
	Grants     []Grant // what this connection may open
	MessageCap uint32  // bytes; a longer inbound message is dropped by the host
}

const (
	settingServer uint16 = iota + 1
	settingValue
	settingGrant
	settingMessageCap
)

// AppendSettings appends s as a block.
func AppendSettings(dst []byte, s *Settings) []byte {
	dst, start := openBlock(dst)
	dst = appendText(dst, settingServer, s.Server)
	dst = appendPairs(dst, settingValue, s.Values)
	dst = appendGrants(dst, settingGrant, s.Grants)
	dst = appendU32(dst, settingMessageCap, s.MessageCap)
	return closeBlock(dst, start)
}

// DecodeSettings reads the block at the start of b and nothing behind it.
func DecodeSettings(b []byte) (Settings, error) {
	var s Settings
	d := newDecoder("settings", b)
	for d.more() {
		d.text(settingServer, &s.Server)
		d.pairs(settingValue, &s.Values)
		d.grants(settingGrant, &s.Grants)
		d.u32(settingMessageCap, &s.MessageCap)
	}
	return s, d.err
}

// Value returns the setting of that name, or "".
func (s *Settings) Value(key string) string {
	for _, p := range s.Values {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// CancelBy says how a transport tells a server that a caller has left.
type CancelBy uint32

// A message is notifications/cancelled; a stream is closed by the guest.
const (
	CancelByMessage CancelBy = iota + 1
	CancelByStream
)

var cancelNames = [...]string{CancelByMessage: "message", CancelByStream: "stream"}

func (c CancelBy) String() string { return nameOf(cancelNames[:], uint32(c), "cancel") }

// Probe says how the session finds out the era of a server behind a transport.
type Probe uint32

// The probes. With ProbeNone the session finds out the era as it does with ProbeStdio, but does
// not expect the server to be a process.
const (
	ProbeNone Probe = iota
	ProbeStdio
	ProbeHTTP
)

var probeNames = [...]string{"none", "stdio", "http"}

func (p Probe) String() string { return nameOf(probeNames[:], uint32(p), "probe") }

// Manifest describes a plugin in its own words. It is the block of report(MANIFEST).
type Manifest struct {
	Name        string // what a server entry calls it: [a-z0-9][a-z0-9-]*
	Version     string
	Summary     string   // one line for people
	Settings    []Pair   // the settings it reads, with a line about each
	Grants      []Grant  // what it opens; a connection may have fewer
	Cancel      CancelBy // zero means CancelByMessage
	Probe       Probe
	Unsolicited bool // some messages belong to no exchange
}

const (
	manifestName uint16 = iota + 1
	manifestVersion
	manifestSummary
	manifestSetting
	manifestGrant
	manifestCancel
	manifestProbe
	manifestUnsolicited
)

// AppendManifest appends m as a block.
func AppendManifest(dst []byte, m *Manifest) []byte {
	dst, start := openBlock(dst)
	dst = appendText(dst, manifestName, m.Name)
	dst = appendText(dst, manifestVersion, m.Version)
	dst = appendText(dst, manifestSummary, m.Summary)
	dst = appendPairs(dst, manifestSetting, m.Settings)
	dst = appendGrants(dst, manifestGrant, m.Grants)
	dst = appendU32(dst, manifestCancel, uint32(m.Cancel))
	dst = appendU32(dst, manifestProbe, uint32(m.Probe))
	if m.Unsolicited {
		dst = appendU32(dst, manifestUnsolicited, 1)
	}
	return closeBlock(dst, start)
}

// DecodeManifest reads the block at the start of b and nothing behind it.
func DecodeManifest(b []byte) (Manifest, error) {
	var m Manifest
	var unsolicited uint32
	d := newDecoder("manifest", b)
	for d.more() {
		d.text(manifestName, &m.Name)
		d.text(manifestVersion, &m.Version)
		d.text(manifestSummary, &m.Summary)
		d.pairs(manifestSetting, &m.Settings)
		d.grants(manifestGrant, &m.Grants)
		d.u32(manifestCancel, (*uint32)(&m.Cancel))
		d.u32(manifestProbe, (*uint32)(&m.Probe))
		d.u32(manifestUnsolicited, &unsolicited)
	}
	m.Unsolicited = unsolicited != 0
	return m, d.err
}

// OpenRequest is the block of open.
type OpenRequest struct {
	Grant   string // the name of a grant of the kind that is opened
	Flags   uint32 // Essential, Upgrade
	Method  string // HTTP only
	Target  string // HTTP only: a URI reference, resolved and checked by the host
	Headers []Pair // HTTP only
}

const (
	openGrant uint16 = iota + 1
	openFlags
	openMethod
	openTarget
	openHeader
)

// AppendOpenRequest appends r as a block.
func AppendOpenRequest(dst []byte, r *OpenRequest) []byte {
	dst, start := openBlock(dst)
	dst = appendText(dst, openGrant, r.Grant)
	dst = appendU32(dst, openFlags, r.Flags)
	dst = appendText(dst, openMethod, r.Method)
	dst = appendText(dst, openTarget, r.Target)
	dst = appendPairs(dst, openHeader, r.Headers)
	return closeBlock(dst, start)
}

// DecodeOpenRequest reads the block at the start of b and nothing behind it.
func DecodeOpenRequest(b []byte) (OpenRequest, error) {
	var r OpenRequest
	err := r.Decode(b)
	return r, err
}

// Decode is [DecodeOpenRequest] into r. It reuses the array of Headers, and each string of r that
// the block has in the same place. So one r can decode block after block, and only new text
// allocates. After an error, r is only fit to be decoded into.
func (r *OpenRequest) Decode(b []byte) error {
	d := newDecoder("open request", b)
	for d.more() {
		d.text(openGrant, &r.Grant)
		d.u32(openFlags, &r.Flags)
		d.text(openMethod, &r.Method)
		d.text(openTarget, &r.Target)
		d.pairs(openHeader, &r.Headers)
	}
	return d.err
}

// Head is the head of an HTTP response, in a HEAD event: its block comes first in the payload,
// and the first bytes of the body may follow it.
type Head struct {
	Headers []Pair // those that a guest may see, names in lower case
}

const headHeader uint16 = 1

// AppendHead appends h as a block.
func AppendHead(dst []byte, h *Head) []byte {
	dst, start := openBlock(dst)
	dst = appendPairs(dst, headHeader, h.Headers)
	return closeBlock(dst, start)
}

// DecodeHead reads the block at the start of b and nothing behind it.
func DecodeHead(b []byte) (Head, error) {
	var h Head
	d := newDecoder("head", b)
	for d.more() {
		d.pairs(headHeader, &h.Headers)
	}
	return h, d.err
}
