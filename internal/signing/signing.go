// Package signing finds keys by which what the server sends is signed, where somebody else
// keeps them: in files that Kubernetes, the agent of a vault or the driver of a KMS puts
// there, or in a vault itself. They are read, and never written.
package signing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Fielder is what is asked of a vault: the fields of a path in it; none where nothing is there.
type Fielder interface {
	Fields(path string) (map[string]string, error)
}

// prefix begins a place that is a path in the vault, and no file.
const prefix = "vault:"

// most bounds the keys of one receiver, in bytes.
const most = 64 << 10

// Place is a file, a directory or a path in a vault; the zero Place is nowhere.
type Place struct {
	at    string
	vault Fielder // nil: at is of this machine

	mu    sync.Mutex
	read  map[string]string // of a vault, lately
	since time.Time
}

// At is a place as a flag writes it: a path of this machine, or vault:PATH. Which vault
// that is, says of; nil: there is none.
func At(text string, of Fielder) (*Place, error) {
	path, is := strings.CutPrefix(text, prefix)
	switch {
	case !is:
		return &Place{at: text}, nil
	case of == nil:
		return nil, fmt.Errorf("%s is a path in a vault, and there is none without --secrets-vault", text)
	default:
		return &Place{at: path, vault: of}, nil
	}
}

// Vault says whether it is a path in a vault.
func (p *Place) Vault() bool { return p.vault != nil }

// usual is the field of a path in a vault that has the keys of the only receiver.
const usual = "keys"

// Only are the keys of the only receiver: a file's, or those in the field keys of a path in
// a vault.
func (p *Place) Only() (string, error) {
	if p.vault == nil {
		return file(p.at)
	}
	all, err := p.vault.Fields(p.at)
	if err == nil && strings.TrimSpace(all[usual]) == "" {
		err = fmt.Errorf("%s%s has nothing in its field %s", prefix, p.at, usual)
	}
	return all[usual], err
}

// fresh is for how long what a vault has said is not asked again; after that what it said
// goes on to hold while it does not answer.
const fresh = time.Minute

// Of are the keys of the receiver of a name: in a file of that name in a directory, or in
// the field of that name of a path in a vault. Empty: it has none of its own.
func (p *Place) Of(name string, now time.Time) (string, error) {
	if p.vault == nil {
		if filepath.Base(name) != name || !filepath.IsLocal(name) {
			return "", nil // it can be the name of no file
		}
		keys, err := file(filepath.Join(p.at, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return keys, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read == nil || now.Sub(p.since) >= fresh || now.Before(p.since) {
		all, err := p.vault.Fields(p.at)
		switch {
		case err == nil:
			p.read, p.since = all, now
		case p.read == nil:
			return "", err
		default:
			p.since = now // it is asked again in a while
		}
	}
	return p.read[name], nil
}

// file are the keys in a file, one a line, which others on the machine may not read.
func file(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case info.Mode().Perm()&0o037 != 0:
		return "", fmt.Errorf("%s may be read by others: chmod 600 %s", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > most:
		return "", fmt.Errorf("%s has more than %d KiB", path, most>>10)
	case strings.TrimSpace(string(text)) == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return string(text), nil
}
