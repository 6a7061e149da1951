package program

import (
	"runtime"
	"runtime/debug"

	"github.com/musterhq/muster/api"
)

// release is set when a release is linked: -ldflags "-X github.com/musterhq/muster/internal/program.release=v1.2.3".
var release = "dev"

// Version says what this binary is, as far as it was built from a commit.
func Version() api.Version {
	v := api.Version{Version: release, Go: runtime.Version(), API: "v1"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
