package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/wholefile"
)

// placeOf is the file that says how far a receiver is. One that was not there before
// has none, and hears the log from its first entry.
func placeOf(dir, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".json")
}

func readPlace(dir, name string) (audit.Head, error) {
	var at audit.Head
	if err := wholefile.ReadJSON(placeOf(dir, name), &at); err != nil {
		return audit.Head{}, err
	}
	return at, nil
}

// writePlace keeps how far a receiver is, whole or not at all.
func writePlace(dir, name string, at audit.Head) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return wholefile.WriteJSON(placeOf(dir, name), at)
}
