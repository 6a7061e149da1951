package signing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shelf is a vault that can be shut.
type shelf struct {
	fields map[string]string
	asked  int
	shut   bool
}

func (s *shelf) Fields(path string) (map[string]string, error) {
	s.asked++
	if s.shut || path != "muster/checks" {
		return nil, errors.New("it does not answer")
	}
	return s.fields, nil
}

func written(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
		t.Fatal(err)
	}
}

func TestKeysOfFiles(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1e9, 0)
	written(t, dir, "vision.gate", "first\n", 0o440)
	written(t, dir, "-.open", "all may see\n", 0o644)
	written(t, dir, "-.empty", "\n", 0o600)
	p, err := At(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	is := func(name, want, wrong string) {
		t.Helper()
		got, err := p.Of(name, now)
		if got != want || (wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	is("vision.gate", "first\n", "")
	is("speech.gate", "", "")
	is("../vision.gate", "", "")
	is("..", "", "")
	is("-.open", "", "may be read by others")
	is("-.empty", "", "is empty")
	written(t, dir, "vision.gate", "second\nfirst\n", 0o600) // it is read each time
	is("vision.gate", "second\nfirst\n", "")
}

func TestKeysOfAVault(t *testing.T) {
	s, now := &shelf{fields: map[string]string{"vision.gate": "k1", "keys": "k2"}}, time.Unix(1e9, 0)
	if _, err := At("vault:muster/checks", nil); err == nil || !strings.Contains(err.Error(), "--secrets-vault") {
		t.Errorf("%v", err)
	}
	p, err := At("vault:muster/checks", s)
	if err != nil {
		t.Fatal(err)
	}
	of := func(want string) {
		t.Helper()
		if got, err := p.Of("vision.gate", now); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	of("k1")
	s.fields = map[string]string{"vision.gate": "k3"}
	of("k1") // it is not asked again at once
	if now = now.Add(fresh); s.asked != 1 {
		t.Errorf("asked %d times", s.asked)
	}
	of("k3")
	s.shut, now = true, now.Add(fresh)
	of("k3") // what it said holds
	if s.asked != 3 {
		t.Errorf("asked %d times", s.asked)
	}
	if _, err := p.Only(); err == nil {
		t.Error("a vault that is shut has keys")
	}
	s.shut = false
	if _, err := p.Only(); err == nil || !strings.Contains(err.Error(), "field keys") {
		t.Errorf("%v", err)
	}
}
