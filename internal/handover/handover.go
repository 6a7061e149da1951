// Package handover takes the records of one server to another machine: all of a
// data directory that is not about the machine itself, as one stream that is taken
// whole or not at all. There is nothing to merge, so that what arrives is what was
// there: places in the queue, history, charges, and a chain of audit entries that
// still follows from its first. It knows neither servers nor databases.
package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/wholefile"
)

// Database is the file of the records. It is the last that is put in its place:
// whoever finds it has everything.
const Database = "muster.db"

// names are what goes, files and folders of the data directory. The rest belongs to
// the machine (sockets, locks, processes) or is made again (images, programs).
var names = []string{"secrets.key", "secrets.vault", "logged-out.json", "shares.json", "weekly.json", "series", "waited.json", "nodes-past.json", "reported", "logs", "builds", "models", "audit-sent", "unreadable", Database}

// Manifest says what a stream holds.
type Manifest struct {
	Archive      int       `json:"archive"` // format of the stream itself
	Format       int       `json:"format"`  // of the database
	Version      string    `json:"version"` // of the program that wrote it
	Installation string    `json:"installation"`
	ID           string    `json:"id"`   // of these very records: the SHA-256 of the database
	From         string    `json:"from"` // name of the machine
	Node         string    `json:"node"` // what that machine is called as a node
	At           time.Time `json:"at"`
}

// archive is the format of streams that this version writes and reads.
const archive = 1

// Left is what stays in a data directory whose records were moved away, or may have been:
// it is written before the first byte leaves, so that two servers never both go on.
type Left struct {
	To       string    `json:"to"` // address of the server
	ID       string    `json:"id"` // of the Manifest
	At       time.Time `json:"at"`
	Complete bool      `json:"complete"` // the other has said that it has them
}

const (
	leftFile = "moved.json"
	hereFile = "moved-here.json"
)

// LeftOf is what was said of dir by MarkLeft; nil: its records are its own.
func LeftOf(dir string) (*Left, error) { return readJSON[Left](filepath.Join(dir, leftFile)) }

// MarkLeft has no server start on dir any more.
func MarkLeft(dir string, l Left) error { return writeJSON(filepath.Join(dir, leftFile), l) }

// Unmark undoes MarkLeft.
func Unmark(dir string) error {
	err := os.Remove(filepath.Join(dir, leftFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// HereOf is what was moved to dir; nil: nothing.
func HereOf(dir string) (*Manifest, error) { return readJSON[Manifest](filepath.Join(dir, hereFile)) }

func readJSON[T any](path string) (*T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	v := new(T)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return v, nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(path, append(text, '\n'))
}

// goes reports whether a path of an archive is of what goes.
func goes(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return filepath.IsLocal(path) && path == filepath.ToSlash(filepath.Clean(path)) && slices.Contains(names, first)
}
