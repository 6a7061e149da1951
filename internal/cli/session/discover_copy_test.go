package session

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheCopyOfADataDirectoryIsNotItsOriginal: whoever asks for the copy is not
// led to the server of the original, which is what muster.addr in it names.
func TestTheCopyOfADataDirectoryIsNotItsOriginal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, other, short, linked := filepath.Join(dir, "own"), filepath.Join(dir, "other"), filepath.Join(dir, "short"), filepath.Join(dir, "link")
	for _, d := range []string{own, other, short} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(other, AddressName), []byte("unix://"+other+"/muster.sock\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, linked); err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"":                                  "unix://" + own + "/muster.sock",
		"unix://" + own + "/muster.sock":    "unix://" + own + "/muster.sock",
		"unix://" + linked + "/muster.sock": "unix://" + linked + "/muster.sock",
		"unix://" + other + "/muster.sock":  "unix://" + own + "/muster.sock",
		"unix://" + short + "/muster.sock":  "unix://" + short + "/muster.sock", // the path in own was too long
	} {
		if err := os.WriteFile(filepath.Join(own, AddressName), []byte(said+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Address(own); got != want {
			t.Errorf("with %q: %s, want %s", said, got, want)
		}
	}
}
