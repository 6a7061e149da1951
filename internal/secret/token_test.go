package secret

import (
	"path/filepath"
	"testing"
)

func TestTokenOutlivesRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	a, other := b.Token("w/0"), b.Token("w/1")
	if len(a) != 64 || a == other {
		t.Errorf("tokens %q and %q; want two different ones of 64 digits", a, other)
	}
	if err := b.Rotate(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.Token("w/0") != a || again.Token("w/0") != a {
		t.Error("the token changed with a new key")
	}
	foreign, err := Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	if foreign.Token("w/0") == a {
		t.Error("another server makes the same token")
	}
}
