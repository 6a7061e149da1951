package rbac

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/spec"
)

// ReachesHost is by which field a document reaches beyond its own container; empty:
// by none. Where its tasks run as who submits it (own), they reach what that user can
// anyway; what the server itself does with a document, it does with its own rights.
func ReachesHost(doc *spec.Document, own bool) (field, what string) {
	switch {
	case own && doc.Build != nil:
		return "build", "images are built with the rights of the server's user"
	case own && doc.Publish != nil:
		return "publish", "what is published is read with the rights of the server's user"
	case own:
		return "", ""
	case doc.Image == "" && doc.Build == nil:
		return "image", "without one the command is a process of the server's user, who may do everything here"
	case doc.Build != nil && doc.Build.Code != "":
		return "build.code", "a directory of the server's machine goes into the image"
	case doc.Publish != nil && doc.Publish.Serve != nil && doc.Publish.Serve.Image == "":
		return "publish.serve.image", "without one what serves is a process of the server's user"
	}
	if i := slices.IndexFunc(doc.Volumes, func(v spec.Volume) bool { return v.HostPath != "" }); i >= 0 {
		return fmt.Sprintf("volumes[%d].hostPath", i), "it is a directory of the machine"
	}
	return "", ""
}
