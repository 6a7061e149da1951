package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// mounted is a file of keys that somebody else puts there: Kubernetes, the agent of a
// vault, a KMS's driver. It is read, and never written.
type mounted struct{ path string }

// Mounted is a safe whose keys are in a file that the server does not write.
func Mounted(path string) Safe { return mounted{path} }

func (m mounted) String() string { return m.path }

// Keys implements Safe. A file that is not there is an error and no empty safe: the
// server would have to make the first key.
func (m mounted) Keys() ([]byte, int, error) {
	f, err := os.Open(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%s is not there; (umask 077; openssl rand -hex 32 > FILE) makes a file with a first key", m.path)
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	keys, err := keysOf(f, 0o037) // Kubernetes has a pod's group read what it mounts
	if err != nil {
		return nil, 0, err
	}
	return written(keys), 1, nil
}

// Keep implements Safe.
func (m mounted) Keep([]byte, int) error {
	return fmt.Errorf("%s is not the server's to write; put a new key before the others there", m.path)
}
