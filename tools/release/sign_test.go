package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestASignatureIsVerified signs a release, and installs it by the right key, by another,
// after a change of the checksums, and without a signature.
func TestASignatureIsVerified(t *testing.T) {
	t.Parallel()
	needs(t, "ssh-keygen")
	keys := t.TempDir()
	for _, name := range []string{"ours", "theirs"} {
		says(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, name))
	}
	dir := pretended(t, "1.0.0")
	r := &release{out: dir, key: filepath.Join(keys, "none")}
	if err := r.sign(); err == nil {
		t.Error("it was signed without a key")
	}
	r.key = filepath.Join(keys, "ours")
	if err := r.sign(); err != nil {
		t.Fatal(err)
	}
	try := func(key string) (string, error) {
		home := t.TempDir()
		out, err := install(t, dir, "--prefix", filepath.Join(home, "p"), "--key", filepath.Join(keys, key))
		if left := below(t, home); err != nil && len(left) != 1 {
			t.Errorf("left behind: %v", left)
		}
		return out, err
	}
	if out, err := try("ours.pub"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := try("theirs.pub"); err == nil || !strings.Contains(out, "not of the key") {
		t.Errorf("of another key: %v, %s", err, out)
	}
	sums := filepath.Join(dir, sumsFile)
	text, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sums, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := try("ours.pub"); err == nil || !strings.Contains(out, "not of the key") {
		t.Errorf("changed after it was signed: %v, %s", err, out)
	}
	if err := os.Remove(sums + ".sig"); err != nil {
		t.Fatal(err)
	}
	if out, err := try("ours.pub"); err == nil || !strings.Contains(out, "SHA256SUMS.sig") {
		t.Errorf("without a signature: %v, %s", err, out)
	}
}
