package mcp

import (
	"encoding/json"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Icon is a picture of a server, a tool, a prompt or a resource (2025-11-25/basic#icons). Its
// address comes from the server: the program that shows the picture decides whether to fetch it,
// and from where.
type Icon struct {
	Src      string   // https: or data:
	MIMEType string   // "" where it is not given
	Sizes    []string // such as 48x48, or any
	Theme    string   // light or dark, the background that it is for; "" is any
}

// maxIcons and maxSizes bound how many are read; a list in JSON may have more.
const (
	maxIcons = 16
	maxSizes = 16
)

// ReadIcons reads the member icons of a server, a tool, a prompt or a resource. It leaves out
// elements that are no icons.
func ReadIcons(icons json.RawMessage) []Icon {
	var all []Icon
	list := strictjson.Read(icons)
	for range list.Array() {
		if len(all) == maxIcons {
			break
		}
		icon, r := Icon{}, strictjson.Read(list.Raw())
		for key := range r.Object() {
			switch string(key) {
			case "src":
				icon.Src = r.String()
			case "mimeType":
				icon.MIMEType = r.String()
			case "theme":
				icon.Theme = r.String()
			case "sizes":
				for range r.Array() {
					if size := r.String(); len(icon.Sizes) < maxSizes {
						icon.Sizes = append(icon.Sizes, size)
					}
				}
			}
		}
		if r.Err() == nil && icon.Src != "" {
			all = append(all, icon)
		}
	}
	return all
}
