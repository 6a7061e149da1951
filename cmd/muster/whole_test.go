package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func TestAnEmptiedDatabaseIsNotBegunAnew(t *testing.T) {
	dir := t.TempDir()
	db, key := filepath.Join(dir, "muster.db"), filepath.Join(dir, "secrets.key")
	if err := refuseEmptied(dir); err != nil {
		t.Errorf("a new directory: %v", err)
	}
	for _, path := range []string{db, key} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := refuseEmptied(dir); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an emptied database: %v", err)
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	if err := refuseEmptied(dir); err != nil {
		t.Errorf("a database that was moved away: %v", err)
	}
}

func TestAKeyIsNotReplacedWhereItIsNeeded(t *testing.T) {
	dir, st := t.TempDir(), memstore.New()
	if err := refuseKeyless(t.Context(), dir, st); err != nil {
		t.Errorf("without secrets: %v", err)
	}
	term, err := st.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(t.Context(), term, &store.Batch{Secrets: []core.Secret{{User: "u", Name: "s", Type: "env"}}}); err != nil {
		t.Fatal(err)
	}
	if err := refuseKeyless(t.Context(), dir, st); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("with a secret and no key: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := refuseKeyless(t.Context(), dir, st); err != nil {
		t.Errorf("with the key: %v", err)
	}
}

func TestADirectoryThatEverybodyWritesToIsClosed(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]os.FileMode{0o700: 0o700, 0o755: 0o755, 0o775: 0o775, 0o777: 0o700, 0o702: 0o700, os.ModeSticky | 0o777: os.ModeSticky | 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		found, err := closeDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode() &^ os.ModeDir; got != want || strings.Contains(found, "could write") != (mode != want) {
			t.Errorf("mode %v is %v now, saying %q; want %v", mode, got, found, want)
		}
	}
}
