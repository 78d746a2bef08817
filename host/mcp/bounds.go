package mcp

import "github.com/wharf-mcp/wharf/host/internal/strictjson"

// Bounds of what is read of the messages of a server. A message has 16 MiB at most, and what
// a host holds for one of n bytes is at most 4n + 16 MiB, whatever is in it: without these
// bounds, `{"content":[{},{},…]}` would take a hundred times its length. A value over a bound
// is an error that names the bound; nothing is left out in silence. Honest servers do not
// come near them.
const (
	// MaxElements is how many elements the arrays of a result may have together, and those of
	// all pages of a list: blocks, messages, tools, arguments of prompts. Each is a struct
	// here, of 300 bytes at most, and takes room in maps too.
	MaxElements = strictjson.DefaultElements

	// MaxPages and MaxListBytes bound the pages of a list, all of which are kept
	// until the list is whole, and the bytes of their text. A tool that says much
	// about itself has 10 KB.
	MaxPages     = 1000
	MaxListBytes = 8 << 20

	// MaxHeaderParams is how many arguments of a tool headers may show. Each is looked for
	// in the arguments of each call.
	MaxHeaderParams = 64

	// MaxAsked is how many things a result may ask a client for at once, or how many
	// web pages an error may; MaxKey is how many bytes the name of one has, and
	// MaxState those of the state that the client keeps for the server meanwhile.
	MaxAsked = 64
	MaxKey   = 1 << 10
	MaxState = 1 << 20

	// MaxNames is how many names of capabilities an error lists: it is read by people.
	MaxNames = 20

	// MaxSchemaBytes is for the schema of a tool: arguments and results are compared
	// with none that is larger. The largest seen have a tenth of it.
	MaxSchemaBytes = 256 << 10

	// A form is filled in by a person, field by field. MaxFormBytes is for the schema
	// of all of it, MaxOptions for what one field has to choose from: the countries,
	// the time zones. MaxPattern bounds the bytes of a pattern that text is compared
	// with: one of 10 bytes may take 100 KB.
	MaxFormBytes  = 256 << 10
	MaxFormFields = 100
	MaxOptions    = 1000
	MaxPattern    = 256
)
