package sharelink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Links outlive the server; of their keys only hashes are on the disk.
func TestLinksAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shares.json")
	now := time.Now()
	k, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l, token, err := k.Add(Link{Workload: "w", By: "ann", Created: now, Expires: now.Add(time.Hour)}, now)
	if err != nil {
		t.Fatal(err)
	}
	_, gone, err := k.Add(Link{Workload: "w", By: "ann", Created: now, Expires: now.Add(time.Hour)}, now)
	if err != nil {
		t.Fatal(err)
	}
	if x, err := k.Drop(func(l *Link) bool { return l.ID() == hashOf(gone)[:16] }); x == nil || err != nil {
		t.Fatal(x, err)
	}
	if all := k.Of(func(*Link) bool { return true }, now); len(all) != 1 || all[0].ID() != l.ID() {
		t.Errorf("%+v", all)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), token) {
		t.Errorf("%v %s", err, text)
	}
	if s, err := os.Stat(path); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", s.Mode(), err)
	}
	k, err = Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := k.Find(token, now); !ok || x.Workload != "w" {
		t.Errorf("%+v %v", x, ok)
	}
	if _, ok := k.Find(gone, now); ok {
		t.Error("what was revoked is back")
	}
	if _, ok := k.Find(token, now.Add(time.Hour)); ok {
		t.Error("what has expired is found")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("a broken file is taken for an empty one")
	}
}
