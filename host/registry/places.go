package registry

import (
	"fmt"
	"slices"
	"strings"
)

// right says what harm a flag of the program can do, or returns "".
func (r runner) right(flag string) string {
	if scoped := strings.HasPrefix(flag, "--@") && strings.HasSuffix(flag, ":registry"); scoped {
		flag = "--@:registry"
	}
	return r.rights[flag]
}

// isSwitch reports whether a flag is known to take no value.
func (r runner) isSwitch(flag string) bool {
	return slices.Contains(r.switches, flag)
}

// takesValue reports whether a flag is known to take a value.
func (r runner) takesValue(flag string) bool {
	return slices.Contains(r.options, flag) || r.right(flag) != "" && !r.isSwitch(flag)
}

// checkPlaces refuses the program's own arguments if the program would take another word for the
// package. It would do so for a word that is no value of a flag. It would also do so for a flag
// without its value, since the package comes next.
func (o *Option) checkPlaces(r runner, own []word) error {
	open := "" // the flag whose value is the next word
	for _, w := range own {
		text := w.texts[0][0].text
		flag, value, joined := strings.Cut(text, "=")
		isFlag := strings.HasPrefix(text, "-")
		// An argument that may be left out, or repeated, moves the words behind it.
		always := w.flag == "" && w.repeated == "" && (w.required || !w.hasInputs())
		switch {
		case open != "" && (isFlag || !always):
			return fmt.Errorf("its argument %.80q lacks a value, so %s could take the package for it", open, o.program)
		case open != "":
			open = ""
		case !isFlag:
			return fmt.Errorf("its argument %.80q stands where %s expects the package", text, o.program)
		case r.isSwitch(flag) && (!joined || w.text() != "" && (value == "true" || value == "false")):
		case r.isSwitch(flag):
			return fmt.Errorf("its argument %.80q takes no value, so %s could take that for the package", flag, o.program)
		case joined && (r.takesValue(flag) || o.Kind != "npm"): // npm takes the value of a switch for an argument
		case !joined && r.takesValue(flag) && always && o.program != "bunx": // which knows few of the flags of npx
			open = text
		default:
			return fmt.Errorf("its argument %.80q is not known here, so %s could take another word for the package", text, o.program)
		}
	}
	if open != "" {
		return fmt.Errorf("its argument %.80q lacks a value, so %s would take the package for it", open, o.program)
	}
	return nil
}

// hasInputs reports whether a part of an argument is the answer of a person.
func (w word) hasInputs() bool {
	return slices.ContainsFunc(w.texts, func(t template) bool {
		return slices.ContainsFunc(t, func(p part) bool { return p.input != "" })
	})
}

// placeCautions says what harm the arguments before the package can do.
func (o *Option) placeCautions(args []string) (cautions []string) {
	r, at := runners[o.Kind], o.packageAt(args)
	isValue := false
	for _, arg := range args[:at] {
		flag, _, joined := strings.Cut(arg, "=")
		known := r.isSwitch(flag) || r.takesValue(flag)
		switch meaning := r.right(flag); {
		case isValue:
			isValue = false
			continue
		case meaning != "":
			cautions = append(cautions, fmt.Sprintf("%s %s", flag, meaning))
		case strings.HasPrefix(arg, "-") && !known && at < len(args) && r.programs != nil: // otherwise they may be the package's own
			cautions = append(cautions, fmt.Sprintf("%s is not known here, and may change what %s runs", flag, o.program))
		}
		isValue = !joined && r.takesValue(flag)
	}
	return cautions
}
