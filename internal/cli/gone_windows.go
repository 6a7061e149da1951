package cli

// gone reports whether a process has ended. Servers run on Linux: none that could
// be stopped from here is ever found.
func gone(int) bool { return true }
