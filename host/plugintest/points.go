package plugintest

// A Level says what a check means for the whole.
type Level string

// The levels. A module that fails a required check does not pass; a fault is one
// that a transport has to survive, and required as well; advice is about what
// costs more than it should.
const (
	Required    Level = "required"
	Fault       Level = "fault"
	Recommended Level = "recommended"
	Advice      Level = "advice"
)

var levels = []Level{Required, Fault, Recommended, Advice}

// binding reports whether a module that fails a check of this level fails.
func (l Level) binding() bool { return l == Required || l == Fault }

// point is one point of the community's proposal for pluggable transports.
type point struct {
	id   string
	text string
	host string // what of it is the host's business, and holds for every plugin
}

// points are the eleven that the proposal requires and the six it recommends.
var points = []point{
	{id: "R1", text: "a transport is replaced by public means alone", host: "modules are loaded by one door"},
	{id: "R2", text: "requests pass"},
	{id: "R3", text: "responses pass"},
	{id: "R4", text: "notifications pass, both ways"},
	{id: "R5", text: "a JSON-RPC error is an answer and no failure of the transport"},
	{id: "R6", text: "a failure of the transport is surfaced", host: "whose call it ends, and what the caller is told"},
	{id: "R7", text: "closing releases everything and ends receiving", host: "handles and timers are released whatever a guest does"},
	{id: "R8", text: "nothing of HTTP is needed"},
	{id: "R9", text: "the protocol is reused as it is, whatever its revision"},
	{id: "R10", text: "opaque context is preserved", host: "the caller's own context never leaves the host"},
	{id: "R11", text: "concurrent requests may be answered in any order"},
	{id: "P1", text: "cancellation strands nothing", host: "handles of a cancelled exchange are closed"},
	{id: "P2", text: "malformed input does no harm", host: "what is delivered is parsed once, by the host"},
	{id: "P3", text: "backpressure loses and overwrites nothing", host: "messages are held back while too much is queued"},
	{id: "P4", text: "unknown _meta and extension fields survive"},
	{id: "P5", text: "a version that is not supported fails predictably", host: "versions are negotiated by the host"},
	{id: "P6", text: "subscriptions/listen may last"},
}

func pointNamed(id string) *point {
	for i := range points {
		if points[i].id == id {
			return &points[i]
		}
	}
	return nil
}
