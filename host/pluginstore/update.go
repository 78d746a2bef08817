package pluginstore

import (
	"fmt"
	"strings"
	"time"
)

// unexpectedChanges says why an update is not a later version of the installed plugin. The
// server that it comes from can offer any file that its publisher has ever signed: an older
// version with a hole in it, or another plugin.
func unexpectedChanges(was, now Installed) []string {
	if was.SHA256 == now.SHA256 {
		return nil
	}
	var lines []string
	add := func(format string, a ...any) { lines = append(lines, fmt.Sprintf(format, a...)) }
	if before := was.Plugin; before == "" && now.Plugin != was.Name {
		add("it calls itself %s; what the installed one calls itself was not kept, and it is named %s", now.Plugin, was.Name)
	} else if before != "" && now.Plugin != before {
		add("it is another plugin: it calls itself %s, and the installed one %s", now.Plugin, before)
	}
	switch order, ok := CompareVersions(now.Version, was.Version); {
	case !ok:
		add("its version %q cannot be compared with %s, which is installed", now.Version, was.Version)
	case order == 0:
		add("it is another file of the same version, %s", now.Version)
	case order < 0:
		add("it is older: its version is %s, and %s is installed", now.Version, was.Version)
	}
	signed, before := commentOf(now.Signature), commentOf(was.Signature)
	if signed.Signed != 0 && signed.Signed < before.Signed {
		add("it was signed earlier: %s, and the installed one %s UTC", moment(signed.Signed), moment(before.Signed))
	}
	if signed.File != "" && before.File != "" && unversioned(signed.File, now.Version) != unversioned(before.File, was.Version) {
		add("it was signed as the file %s, and the installed one as %s", signed.File, before.File)
	}
	return lines
}

func moment(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.DateTime) }

// unversioned returns the name of a file without the version in it, so that the names of two
// versions compare as equal.
func unversioned(file, version string) string {
	return strings.ReplaceAll(file, strings.TrimPrefix(version, "v"), "")
}

// checkComment compares the name and version that the publisher has signed, if there are any,
// with those that the plugin says of itself.
func (o *Offer) checkComment() error {
	c := commentOf(o.Plugin.Signature)
	if c.Plugin != "" && c.Plugin != o.Plugin.Plugin {
		return unsigned(fmt.Sprintf("it is signed as the plugin %s, and calls itself %s", c.Plugin, o.Plugin.Plugin),
			askPublisher)
	}
	if c.Version != "" && c.Version != o.Plugin.Version {
		return unsigned(fmt.Sprintf("it is signed as version %s, and says that it is %s", c.Version, o.Plugin.Version),
			askPublisher)
	}
	return nil
}

const askPublisher = "do not use it, and tell the publisher"
