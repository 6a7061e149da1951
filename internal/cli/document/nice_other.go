//go:build !linux

package document

// nice is not known.
func nice() (int, bool) { return 0, false }
