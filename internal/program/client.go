//go:build !linux

package program

import "context"

// start is nil: servers run on Linux, and so does everything beside tasks.
var start func(ctx context.Context, dataDir string, args ...string) error

func helper([]string) (code int, ok bool) { return 0, false }
