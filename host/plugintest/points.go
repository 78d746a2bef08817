package plugintest

// A Level says what a failed check means for the whole module.
type Level string

// The levels. A module that fails a required check does not pass. A fault is a check of something
// that a transport has to survive, and is required as well. Advice is about work that costs more
// than it should.
const (
	Required    Level = "required"
	Fault       Level = "fault"
	Recommended Level = "recommended"
	Advice      Level = "advice"
)

var levels = []Level{Required, Fault, Recommended, Advice}

// binding reports whether a module that fails a check of this level fails.
func (l Level) binding() bool { return l == Required || l == Fault }

// points are the eleven that the proposal requires and the six it recommends.
var points = []Point{
	{ID: "R1", Text: "a transport is replaced by public means alone", Host: "modules are loaded by one door"},
	{ID: "R2", Text: "requests pass"},
	{ID: "R3", Text: "responses pass"},
	{ID: "R4", Text: "notifications pass, both ways"},
	{ID: "R5", Text: "a JSON-RPC error is an answer and no failure of the transport"},
	{ID: "R6", Text: "a failure of the transport is surfaced", Host: "whose call it ends, and what the caller is told"},
	{ID: "R7", Text: "closing releases everything and ends receiving", Host: "handles and timers are released whatever a guest does"},
	{ID: "R8", Text: "nothing of HTTP is needed"},
	{ID: "R9", Text: "the protocol is reused as it is, whatever its revision"},
	{ID: "R10", Text: "opaque context is preserved", Host: "the caller's own context never leaves the host"},
	{ID: "R11", Text: "concurrent requests may be answered in any order"},
	{ID: "P1", Text: "cancellation strands nothing", Host: "handles of a cancelled exchange are closed"},
	{ID: "P2", Text: "malformed input does no harm", Host: "what is delivered is parsed once, by the host"},
	{ID: "P3", Text: "backpressure loses and overwrites nothing", Host: "messages are held back while too much is queued"},
	{ID: "P4", Text: "unknown _meta and extension fields survive"},
	{ID: "P5", Text: "a version that is not supported fails predictably", Host: "versions are negotiated by the host"},
	{ID: "P6", Text: "subscriptions/listen may last"},
}
