package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// AppendValue appends v as compact JSON. It writes the usual types of arguments itself: maps by
// name, slices of any, strings, numbers, booleans and nil. Members are sorted by name. A
// [json.RawMessage] or a []byte is JSON already and goes through [AppendRaw]. [json.Marshal] writes
// everything else, and replaces bytes that are not UTF-8; in the usual types such bytes are an
// error, as are NaN and infinities. On any error dst is returned as it was.
func AppendValue(dst []byte, v any) ([]byte, error) {
	out, err := appendValue(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// appendValue appends v, which is nested at a depth. A value deeper than a peer would read is an
// error, and so is one that contains itself.
func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return AppendStrict(dst, v)
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case map[string]any:
		return appendMap(dst, v, depth+1)
	case []any:
		return appendSlice(dst, v, depth+1)
	case json.RawMessage:
		return AppendRaw(dst, v)
	case []byte:
		return AppendRaw(dst, v)
	}
	out, err := json.Marshal(v)
	return append(dst, out...), err
}

var errDepth = errors.New("arguments are nested more than " + strconv.Itoa(DefaultDepth) + " deep")

func appendMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	if depth > DefaultDepth {
		return dst, errDepth
	}
	keys := make([]string, 0, 16)
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var err error
	for i, key := range keys {
		dst = append(dst, "{,"[min(i, 1)])
		if dst, err = AppendStrict(dst, key); err != nil {
			return dst, fmt.Errorf("name of a member: %w", err)
		}
		if dst, err = appendValue(append(dst, ':'), m[key], depth); err != nil {
			return dst, fmt.Errorf("%s: %w", key, err)
		}
	}
	return closeList(dst, len(keys), "{}"), nil
}

func appendSlice(dst []byte, list []any, depth int) ([]byte, error) {
	if list == nil {
		return append(dst, "null"...), nil
	}
	if depth > DefaultDepth {
		return dst, errDepth
	}
	var err error
	for i, v := range list {
		if dst, err = appendValue(append(dst, "[,"[min(i, 1)]), v, depth); err != nil {
			return dst, fmt.Errorf("%d: %w", i, err)
		}
	}
	return closeList(dst, len(list), "[]"), nil
}

// closeList appends the closing bracket of a list of n elements. If there are none, it appends the
// opening bracket too.
func closeList(dst []byte, n int, brackets string) []byte {
	if n == 0 {
		return append(dst, brackets...)
	}
	return append(dst, brackets[1])
}

// appendFloat writes x in the shortest form that reads back as x, with an
// exponent only where the plain form would be long.
func appendFloat(dst []byte, x float64) ([]byte, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, fmt.Errorf("JSON has no number %v", x)
	}
	format := byte('f')
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, 64), nil
}
