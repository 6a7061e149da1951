package oci

import (
	"archive/tar"
	"cmp"
	"path"
	"strconv"
	"strings"
)

// Names of whiteouts in layers, as the OCI image specification has them.
const (
	whiteoutPrefix = ".wh."
	whiteoutMeta   = ".wh..wh." // of a union file system that no longer exists
	whiteoutOpaque = ".wh..wh..opq"
)

// maxName is the longest path that Linux takes.
const maxName = 4095

const xattrRecord = "SCHILY.xattr."

// hostile is an error about an entry of an archive that no honest tool writes.
func hostile(name, format string, args ...any) *Error {
	if r := []rune(name); len(r) > 120 {
		name = string(r[:120]) + "…"
	}
	e := failf(Damaged, nil, format, args...)
	e.Text = "the image is damaged or malicious: its entry " + strconv.Quote(name) + " " + e.Text
	return e
}

// entryPath turns an archive's name into a clean path below the root: ".", "a"
// or "a/b", never with "..".
func entryPath(name string) (string, error) {
	if len(name) > maxName {
		return "", hostile(name, "has a name of %d bytes; at most %d are possible", len(name), maxName)
	}
	if strings.ContainsRune(name, 0) {
		return "", hostile(name, "has a zero byte in its name")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "", hostile(name, "points out of the image")
		case len(part) > 255:
			return "", hostile(name, "has a part of %d bytes; at most 255 are possible", len(part))
		}
	}
	return cmp.Or(path.Clean("/" + name)[1:], "."), nil
}

// whiteoutOf says what a base name of an entry means: name is hidden, or with
// opaque all of the directory, or with skip nothing at all.
func whiteoutOf(base string) (name string, opaque, skip, ok bool) {
	switch {
	case base == whiteoutOpaque:
		return "", true, false, true
	case strings.HasPrefix(base, whiteoutMeta):
		return "", false, true, true
	case strings.HasPrefix(base, whiteoutPrefix):
		return base[len(whiteoutPrefix):], false, false, true
	}
	return "", false, false, false
}

// keptXattrs are the extended attributes that a layer may set. What overlayfs
// itself understands (trusted.overlay.*, user.overlay.*) is never taken from an
// archive: it could make a directory show another one.
func keptXattrs(h *tar.Header) map[string]string {
	var kept map[string]string
	for k, v := range h.PAXRecords {
		name, ok := strings.CutPrefix(k, xattrRecord)
		if !ok || !keepXattr(name) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = v
	}
	return kept
}

func keepXattr(name string) bool {
	switch {
	case name == "security.capability", strings.HasPrefix(name, "system.posix_acl_"):
		return true
	case strings.HasPrefix(name, "user.overlay."):
		return false
	}
	return strings.HasPrefix(name, "user.")
}
