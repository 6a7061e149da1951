package handover

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncAll has everything that was written to the file system of dir survive loss of
// power: at once, as there may be very many files.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
}
