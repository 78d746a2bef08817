package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// A result keeps all of its elements, however many they are.
func TestEachOfManyElements(t *testing.T) {
	many := strings.Repeat("1,", strictjson.DefaultElements) + "1"
	same := func(e json.RawMessage) json.RawMessage { return e }
	if got := eachOf(json.RawMessage(`{"content":[`+many+`]}`), "content", same); string(got) != `{"content":[`+many+`]}` {
		t.Errorf("of %d elements %d are left", strictjson.DefaultElements+1, strings.Count(string(got), "1"))
	}
}
