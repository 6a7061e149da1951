// Package wholefile writes small files whole or not at all, whatever stops the
// program or the machine meanwhile.
package wholefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write gives a file that content, for its owner alone (0600). What it had before
// stays where that fails, and until the new is on the disk. Its folder has to be
// there.
func Write(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
