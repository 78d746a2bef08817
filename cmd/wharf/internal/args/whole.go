package args

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// readWhole reads a whole object from a text, or from stdin if the text is "-". from names the text in errors. source is
// where the object came from.
func readWhole(ctx context.Context, stdin io.Reader, from, text string) (object Object, source string, err error) {
	if text == "-" && stdin == nil {
		return object, "", exit.Usage(fmt.Errorf("%s: - reads stdin, and the lines of a shell come from there", from), "write the object, or key=value")
	}
	if text == "-" {
		input, err := files.ReadAll(ctx, stdin, files.MaxInput)
		if err != nil {
			return object, "", exit.Usage(fmt.Errorf("read stdin: %w", err), "")
		}
		from, text = "stdin", strings.TrimPrefix(string(input), "\ufeff") // some editors and shells begin with it
	}
	object, err = parseObject(text)
	if err == nil {
		return object, from, nil
	}
	err = fmt.Errorf("%s: %w", from, err)
	fixed, member := requote(text), memberWord.FindStringSubmatch(text)
	switch file, isFile := strings.CutPrefix(text, "@"); {
	case isFile:
		err = exit.Usage(err, "give a file on stdin: --args - < %s", plain.ShellWord(file))
	case strings.HasPrefix(text, "{") && (fixed != "" || len(text) > 2 && !strings.Contains(text, `"`)):
		err = exit.Usage(err, "JSON has double quotes, and single quotes keep them from the shell: %s", plain.ShellWord(cmp.Or(fixed, `{"message": "hello"}`)))
	case member != nil && member[1] == "":
		err = exit.Usage(err, "the shell takes JSON apart, and single quotes keep it whole: '{%s: …}'", plain.Quote(member[2]))
	default:
		err = exit.Usage(err, `expected a JSON object such as {"message": "hello"}`)
	}
	return object, "", err
}

// takenApart returns how an argument is written in JSON, if its text is one of those which a shell made of an object by
// its braces, key={"a":1,"b":2}, or of a list of one. It returns "" for another text.
func takenApart(key, text string) string {
	m := memberWord.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	object := "{" + plain.Quote(m[2]) + ": …}"
	if m[1] != "" {
		object = "[" + object + "]"
	}
	return plain.ShellWord(plain.Clip(key+"="+object, 200))
}

// memberWord matches a member of a JSON object without its quotes, perhaps in the brackets of a list.
var memberWord = lazyregexp.New(`^(\[?)([A-Za-z_][A-Za-z0-9_-]*):[^/]`)
