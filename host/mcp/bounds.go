package mcp

import "github.com/wharf-mcp/wharf/host/internal/strictjson"

// Bounds of the parts of a server's messages that are read. A message has 16 MiB at most, and a
// host holds at most 4n + 16 MiB for a message of n bytes, whatever is in it. Without these
// bounds, `{"content":[{},{},…]}` would take a hundred times its length. A value over a bound is
// an error that names the bound; nothing is left out in silence. Honest servers stay far below.
const (
	// MaxElements bounds the elements of all arrays of a result together, and those of all pages
	// of a list: blocks, messages, tools, arguments of prompts. Each is a struct here, of 300
	// bytes at most, and takes room in maps too.
	MaxElements = strictjson.DefaultElements

	// MaxPages and MaxListBytes bound the pages of a list and the bytes of their text. All pages
	// are kept until the list is whole. A tool with a long description has 10 KB.
	MaxPages     = 1000
	MaxListBytes = 8 << 20

	// MaxHeaderParams bounds how many arguments of a tool go into headers. Each call looks for
	// all of them in its arguments.
	MaxHeaderParams = 64

	// MaxAsked bounds how many things a result may ask a client for at once, and how many web
	// pages an error may name. MaxKey bounds the bytes of the name of each. MaxState bounds the
	// bytes of the state that the client keeps for the server meanwhile.
	MaxAsked = 64
	MaxKey   = 1 << 10
	MaxState = 1 << 20

	// MaxNames bounds how many names of capabilities an error lists, since people read it.
	MaxNames = 20

	// MaxSchemaBytes bounds the schema of a tool. Arguments and results are not compared with a
	// larger one. The largest that were seen have a tenth of it.
	MaxSchemaBytes = 256 << 10

	// A person fills in a form field by field. MaxFormBytes bounds its whole schema, and
	// MaxOptions the choices of one field, such as countries or time zones. MaxPattern bounds
	// the bytes of a pattern that text is compared with: a pattern of 10 bytes may take 100 KB.
	MaxFormBytes  = 256 << 10
	MaxFormFields = 100
	MaxOptions    = 1000
	MaxPattern    = 256
)
