package enter

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/sshserver"
)

// What lies in the directory of keys. The server of a connection runs on this
// machine, as this user: its key is here like the user's.
const (
	sshDir      = "ssh"
	userKeyFile = "id_ed25519"
	hostKeyFile = "host_ed25519"
	knownFile   = "known_hosts"
	sshFile     = "config"
	// hostAlias is under which name every task's key is known.
	hostAlias = "muster"
)

// sshKeys reads the keys of ssh connections, and makes them where there are none.
func sshKeys(s *session.Session) (dir string, keys sshserver.Keys, err error) {
	base, err := s.Dir()
	if err != nil {
		return "", keys, err
	}
	dir = filepath.Join(base, sshDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", keys, fmt.Errorf("no place for the keys of ssh: %w", err)
	}
	user, err := keyOf(filepath.Join(dir, userKeyFile))
	if err != nil {
		return "", keys, err
	}
	host, err := keyOf(filepath.Join(dir, hostKeyFile))
	if err != nil {
		return "", keys, err
	}
	known := append([]byte(hostAlias+" "), ssh.MarshalAuthorizedKey(host.PublicKey())...)
	path := filepath.Join(dir, knownFile)
	if was, err := os.ReadFile(path); err != nil || !bytes.Equal(was, known) {
		if err := replaceFile(path, known, 0o600); err != nil {
			return "", keys, err
		}
	}
	return dir, sshserver.Keys{Host: host, User: user.PublicKey()}, nil
}

// keyOf reads a private key, and makes it where there is none.
func keyOf(path string) (ssh.Signer, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(path); err != nil {
			return nil, err
		}
		data, err = os.ReadFile(path) // perhaps that of somebody who was faster
	}
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return nil, session.UsageError(fmt.Sprintf("%s is no key: %v", path, err), "remove it; another one is made")
	}
	return key, nil
}

func makeKey(path string) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "muster")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(pem.EncodeToMemory(block)) // of mode 0600 from its beginning
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err = os.Link(temp.Name(), path); errors.Is(err, fs.ErrExist) { // never over another's
		return nil
	}
	return err
}

// replaceFile gives a file another content at once.
func replaceFile(path string, data []byte, mode fs.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if cerr := temp.Chmod(mode); err == nil {
		err = cerr
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
