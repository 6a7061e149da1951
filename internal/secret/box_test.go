package secret

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
)

func box(t testing.TB) *Box {
	t.Helper()
	b, err := Open(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sealed(t testing.TB, b *Box, user, name, typ string, values Values) core.Secret {
	t.Helper()
	data, err := b.Seal(core.SecretID{User: user, Name: name}, typ, values)
	if err != nil {
		t.Fatal(err)
	}
	return core.Secret{User: user, Name: name, Type: typ, Sealed: data}
}

func same(a, b Values) bool { return maps.EqualFunc(a, b, bytes.Equal) }

func TestWhatIsSealedOpensAgain(t *testing.T) {
	t.Parallel()
	b := box(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	text := func(most int) string {
		data := make([]byte, r.IntN(most))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		return string(data)
	}
	for range 300 {
		values := Values{}
		for range r.IntN(4) {
			values[hex.EncodeToString([]byte(text(5)))] = []byte(text(2000))
		}
		s := sealed(t, b, text(20), text(20), text(20), values)
		got, err := b.Unseal(s)
		if err != nil || !same(got, values) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again := sealed(t, b, s.User, s.Name, s.Type, values)
		if bytes.Equal(again.Sealed, s.Sealed) {
			t.Fatal("sealing twice gave the same bytes: the nonce is not new")
		}
		for _, v := range values {
			if len(v) > 8 && bytes.Contains(s.Sealed, v) {
				t.Fatal("a value stands in what was sealed")
			}
		}
	}
}

func TestWhatWasChangedDoesNotOpen(t *testing.T) {
	t.Parallel()
	b := box(t)
	s := sealed(t, b, "ada", "token", "hf", Values{"token": []byte("hf_marker")})
	refused := func(what string, s core.Secret) {
		t.Helper()
		values, err := b.Unseal(s)
		if values != nil || !errors.Is(err, ErrChanged) && !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: it opened, %v", what, err)
		} else if strings.Contains(err.Error(), "hf_marker") {
			t.Errorf("%s: the error shows the value", what)
		}
	}
	for i := range s.Sealed {
		for bit := range 8 {
			x := s
			x.Sealed = bytes.Clone(s.Sealed)
			x.Sealed[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, i), x)
		}
		x := s
		x.Sealed = s.Sealed[:i]
		refused(fmt.Sprintf("cut to %d bytes", i), x)
	}
	x := s
	x.Sealed = append(bytes.Clone(s.Sealed), 0)
	refused("a byte more", x)
	for _, other := range []core.Secret{
		{User: "eve", Name: "token", Type: "hf"}, {User: "ada", Name: "other", Type: "hf"}, {User: "ada", Name: "token", Type: "env"},
		{User: "adat", Name: "oken", Type: "hf"}, {User: "", Name: "adatoken", Type: "hf"}, {User: "ada", Name: "tokenhf"},
	} {
		other.Sealed = s.Sealed
		refused(fmt.Sprintf("as %s/%s/%s", other.User, other.Name, other.Type), other)
	}
	if values, err := b.Unseal(s); err != nil || !same(values, Values{"token": []byte("hf_marker")}) {
		t.Errorf("the one that was not changed: %v", err)
	}
}

func TestRotatedKeysStillOpen(t *testing.T) {
	t.Parallel()
	b := box(t)
	other, err := Open(b.path) // of another process
	if err != nil {
		t.Fatal(err)
	}
	values := Values{"value": []byte("v")}
	var all []core.Secret
	for i := range 4 {
		all = append(all, sealed(t, b, "ada", fmt.Sprint(i), "env", values))
		if err := b.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	all = append(all, sealed(t, b, "ada", "last", "env", values))
	for _, opener := range []*Box{b, other} {
		for _, s := range all {
			if got, err := opener.Unseal(s); err != nil || !same(got, values) {
				t.Errorf("secret %s: %v", s.Name, err)
			}
		}
	}
	if text := lines(t, b.path); len(text) != 5 {
		t.Errorf("%d keys after 4 rotations, want 5", len(text))
	}

	// Resealed ones need the newest key only; the others say which is missing.
	first, err := b.Reseal(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path, []byte(lines(t, b.path)[0]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	newest, err := Open(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := newest.Unseal(first); err != nil || !same(got, values) {
		t.Errorf("a resealed secret: %v", err)
	}
	if _, err := newest.Unseal(all[0]); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), b.path) {
		t.Errorf("a secret whose key is gone: %v", err)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestKeyFileIsPrivateAndNew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "keys")
	if _, err := Open(path); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want mode %v", filepath.Base(name), info.Mode(), err, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the file: %v, %v", entries, err)
	}
	if k := lines(t, path); len(k) != 1 || len(k[0]) != 64 {
		t.Errorf("the file has %d lines, the first of %d characters; want 1 of 64", len(k), len(k[0]))
	}
}

func TestBadKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("0a", 32) + "\n"
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"readable by the group": {good, 0o640, "chmod 600"},
		"readable by all":       {good, 0o604, "chmod 600"},
		"empty":                 {"", 0o600, "backup"},
		"cut off":               {good[:40], 0o600, "backup"},
		"without its line end":  {good[:64], 0o600, "backup"},
		"with more":             {good + "x", 0o600, "backup"},
		"no hexadecimal":        {strings.Repeat("zz", 32) + "\n", 0o600, "line 1"},
		"a second bad line":     {good + strings.Repeat("-", 64) + "\n", 0o600, "line 2"},
		"raw":                   {strings.Repeat("\x01", 32), 0o600, "backup"},
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want an error that says %q and the path", name, err, c.says)
		} else if strings.Contains(err.Error(), "0a0a") || strings.Contains(err.Error(), "zz") {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != c.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestManyOpenAndRotateAtOnce: everybody gets the same first key, and no
// rotation loses another's.
func TestManyOpenAndRotateAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	const many = 12
	var group sync.WaitGroup
	var mu sync.Mutex
	var all []core.Secret
	for i := range many {
		group.Go(func() {
			b, err := Open(path)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 3 {
				s := sealed(t, b, "ada", fmt.Sprint(i, j), "env", Values{"value": {1}})
				mu.Lock()
				all = append(all, s)
				mu.Unlock()
				if err := b.Rotate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lines(t, path)); n != 3*many+1 {
		t.Errorf("%d keys after %d rotations", n, 3*many)
	}
	for _, s := range all {
		if _, err := b.Unseal(s); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the file: %v, %v", entries, err)
	}
}

// FuzzUnseal: whatever stands in the database, opening it neither panics nor
// gives anything but what was sealed.
func FuzzUnseal(f *testing.F) {
	b := box(f)
	now := time.Unix(1, 0)
	s, err := Make(b, "ada", "token", "hf", nil, Values{"token": []byte("t")}, now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("ada", "token", "hf", s.Sealed)
	f.Add("ada", "token", "env", s.Sealed)
	f.Add("ada", "token", "hf", s.Sealed[:headSize])
	f.Add("", "", "", []byte{})
	f.Add("", "", "", bytes.Repeat([]byte{version}, headSize+16))
	f.Fuzz(func(t *testing.T, user, name, typ string, data []byte) {
		got, err := b.Unseal(core.Secret{User: user, Name: name, Type: typ, Sealed: data})
		original := user == "ada" && name == "token" && typ == "hf" && bytes.Equal(data, s.Sealed)
		if (err == nil) != original {
			t.Errorf("%q %q %q %x: %v, %v", user, name, typ, data, got, err)
		}
	})
}
