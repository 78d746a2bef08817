package args

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// Build returns the object for the tool. If the schema is nil, every value that is not JSON
// becomes a string. If check is set, a name that is nearly that of an argument is an error, and so
// is a text that is no value of its type. Otherwise such a text becomes a string.
func (args Arguments) Build(tool string, schema json.RawMessage, check bool) (Object, error) {
	built, reader := Object{}, ReadSchema(schema)
	args, err := args.named(fmt.Sprintf("tool %q", tool), reader)
	if err != nil {
		return nil, err
	}
	maps.Copy(built, args.base)
	var faults []host.Fault
	for _, v := range args.values {
		if v.json {
			built[v.Key] = json.RawMessage(v.Text)
			continue
		}
		wanted := reader.Types(v.Key)
		member, ok := coerce(v.Text, wanted)
		if listed := reader.listed(v.Key, v.Text); listed != nil {
			member, ok = listed, true
		}
		switch {
		case !ok && check:
			faults = append(faults, host.Fault{Pointer: pointerTo(v.Key), Want: wanted.String()})
		case !ok:
			member = json.RawMessage(plain.Quote(v.Text))
		}
		built[v.Key] = member
	}
	taken := false // with --no-validate
	if check {
		slipped, open := slips(schema, reader, built)
		taken = len(slipped) > 0 && open
		if faults = append(faults, slipped...); len(faults) > 0 {
			faults = append(faults, reader.missing(built, faults)...)
		}
	}
	if len(faults) > 0 {
		return nil, explanation{args, reader, built, tool, faults, 0, taken}.err()
	}
	return built, nil
}

// Params returns the params of a request of any method. There is no schema for them, so a value
// without a key is an error.
func (args Arguments) Params(method string) (Object, error) {
	args, err := args.paired(new(Schema))
	if err != nil {
		return nil, err
	}
	if args.NeedNames() {
		return nil, exit.Usage(fmt.Errorf("argument %q: method %q takes key=value or a JSON object", plain.Clip(args.bare[0].text, 40), plain.Clip(method, 40)), "%s", cmp.Or(args.bare[0].asObject(), formHint))
	}
	return args.Build(method, nil, false)
}
