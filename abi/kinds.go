package abi

// Kind is the kind of an event, the first parameter of [ExportEvent].
type Kind uint32

// The events. A guest returns 0 from a kind that it does not know: later versions of a host may
// send more of them.
const (
	EventDescribe Kind = iota + 1
	EventOpen
	EventMessage
	EventCancel
	EventOpened
	EventHead
	EventData
	EventEnd
	EventError
	EventExit
	EventTimer
	EventResume
	EventClose
	kindEnd
)

var kindNames = [...]string{
	EventDescribe: "DESCRIBE",
	EventOpen:     "OPEN",
	EventMessage:  "MESSAGE",
	EventCancel:   "CANCEL",
	EventOpened:   "OPENED",
	EventHead:     "HEAD",
	EventData:     "DATA",
	EventEnd:      "END",
	EventError:    "ERROR",
	EventExit:     "EXIT",
	EventTimer:    "TIMER",
	EventResume:   "RESUME",
	EventClose:    "CLOSE",
}

func (k Kind) String() string { return nameOf(kindNames[:], uint32(k), "event") }

// Results of a MESSAGE event. Everything below zero is fatal to the connection.
const (
	// Later: report(DONE) or report(FAILED) follows for this exchange.
	Later int32 = 0
	// HandedOver: the message is with the server and nothing will follow.
	HandedOver int32 = 1
)

// Flags of DATA (in arg) and HEAD (in the upper half of arg).
const (
	// Last says that no END follows: these were the last bytes of the handle.
	Last uint32 = 1
	// HeadLast is Last as it stands in the arg of HEAD, above the status.
	HeadLast uint32 = Last << 16
)

// Flags of OPENED (in arg).
const (
	// Sealed says that the payload signs in to the server. A guest can only forward it to the
	// handle of the event.
	Sealed uint32 = 1
)

// Flags of deliver, deliver_mem, forward and write.
const (
	// More says that a later call goes on with the message or body.
	More uint32 = 0
	// End completes the message (deliver) or closes the write side (write, forward).
	End uint32 = 1
	// Abort drops the part of the exchange's message that was collected so far (deliver only).
	Abort uint32 = 2
)

// OpenKind is the kind of thing that open opens.
type OpenKind uint32

// The kinds of open. Each needs a grant of the same kind.
const (
	OpenProcess OpenKind = iota + 1 // a child process: writes are its stdin, DATA its stdout
	OpenStream                      // a byte stream: a unix or tcp socket, or TLS over tcp
	OpenHTTP                        // one HTTP exchange
	openEnd
)

var openNames = [...]string{OpenProcess: "process", OpenStream: "stream", OpenHTTP: "http"}

func (k OpenKind) String() string { return nameOf(openNames[:], uint32(k), "kind") }

// ParseOpenKind is the inverse of [OpenKind.String]. ok is false for a name that belongs to no
// kind.
func ParseOpenKind(name string) (k OpenKind, ok bool) {
	for i := OpenProcess; i < openEnd; i++ {
		if openNames[i] == name {
			return i, true
		}
	}
	return 0, false
}

// Flags of an open request.
const (
	// Essential says that the end of this handle is the end of the connection.
	Essential uint32 = 1
	// Upgrade asks for the 101 handshake; afterwards the handle is a byte stream.
	Upgrade uint32 = 2
)

// What is the first parameter of report.
type What uint32

// What a guest can report.
const (
	ReportManifest What = iota + 1 // the answer to DESCRIBE; the block is a Manifest
	ReportUp                       // the connection carries messages from now on
	ReportDone                     // the exchange is over and all is well
	ReportFailed                   // the exchange is over; code is a Status, the text says why
	ReportExpired                  // the server forgot the session: a new handshake is due
	ReportEnded                    // the guest needs nothing more after CLOSE
	reportEnd
)

var reportNames = [...]string{
	ReportManifest: "MANIFEST",
	ReportUp:       "UP",
	ReportDone:     "DONE",
	ReportFailed:   "FAILED",
	ReportExpired:  "EXPIRED",
	ReportEnded:    "ENDED",
}

func (w What) String() string { return nameOf(reportNames[:], uint32(w), "report") }

// Level is the first parameter of log.
type Level uint32

// The levels of log, least urgent first.
const (
	LevelDebug Level = iota
	LevelInfo
	LevelWarn
	LevelError
)

var levelNames = [...]string{"DEBUG", "INFO", "WARN", "ERROR"}

func (l Level) String() string { return nameOf(levelNames[:], uint32(l), "level") }

// MessageKind says in the facts of a MESSAGE if it is a request, a notification or a
// reply.
type MessageKind uint32

// The kinds of an outgoing message.
const (
	Request MessageKind = iota + 1
	Notification
	Reply
)

var messageNames = [...]string{Request: "request", Notification: "notification", Reply: "reply"}

func (k MessageKind) String() string { return nameOf(messageNames[:], uint32(k), "message") }

// nameOf returns names[i], or what(i) if there is no such name.
func nameOf(names []string, i uint32, what string) string {
	if uint64(i) < uint64(len(names)) && names[i] != "" {
		return names[i]
	}
	return what + "(" + itoa(int64(i)) + ")"
}
