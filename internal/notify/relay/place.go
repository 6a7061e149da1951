package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	text, err := os.ReadFile(placeOf(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return at, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		return audit.Head{}, err
	}
	return at, nil
}

// writePlace keeps how far a receiver is, whole or not at all.
func writePlace(dir, name string, at audit.Head) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return wholefile.Write(placeOf(dir, name), text)
}
