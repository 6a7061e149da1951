//go:build linux

package supervisor

import (
	"fmt"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/rootfs"
)

// checkOwn finds out whether this server's own program runs in an image that it is
// mounted into: linked against the libraries of its machine (plain go build, where
// cgo is on), it needs their loader there, and the kernel only says that there is
// no such file, meaning the loader.
func checkOwn(root int, a backend.Assignment, ref string, in container.Input) error {
	for _, m := range a.Mounts {
		if !m.Program {
			continue
		}
		if loader := rootfs.Loader(m.Source); loader != "" && !isProgram(root, loader) && !mounted(in, loader) {
			return &cannotRun{text: fmt.Sprintf("this server's muster, which has to run in the container, is linked against libraries, and image %s lacks their loader %s; "+
				"build muster with make build (CGO_ENABLED=0) and start the server again with that", ref, loader)}
		}
	}
	return nil
}
