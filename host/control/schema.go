package control

import _ "embed"

//go:embed schema.json
var schemaText []byte

// Schema returns the JSON Schema of the protocol (2020-12). A message of either side fits it. In its
// $defs are the params and the result of each method, by the name of the method.
func Schema() []byte { return schemaText }
