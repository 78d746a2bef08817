package server

import (
	"fmt"
	"strings"
)

// toolList builds the result of tools/list: the two tools that work, and others of about 500
// bytes each, like those of real servers.
func toolList(era Era, tools int) []byte {
	list := []byte(`{"tools":[`)
	list = appendTool(list, Echo, `"message":{"type":"string","description":"the text to answer with"}`)
	list = append(list, ',')
	list = appendTool(list, Flood, `"count":{"type":"integer","description":"how many notifications come first"}`)
	for n := 2; n < tools; n++ {
		list = append(list, ',')
		list = appendTool(list, fmt.Sprintf("tool-%02d", n), idleProperties)
	}
	list = append(list, ']')
	if era == Modern {
		list = append(list, `,"resultType":"complete","ttlMs":0,"cacheScope":"private"`...)
	}
	return append(list, '}')
}

const idleProperties = `"path":{"type":"string","description":"the file to look at, from the root of the project"},` +
	`"depth":{"type":"integer","minimum":0,"description":"how many levels to go down"}`

var idleDescription = strings.Repeat("This tool is in the list for its length. ", 4)

func appendTool(list []byte, name, properties string) []byte {
	return fmt.Appendf(list, `{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s}}}`,
		name, idleDescription, properties)
}
