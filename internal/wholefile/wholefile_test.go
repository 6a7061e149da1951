package wholefile

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that cannot take another's place leaves nothing beside it.
func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "kept")
	for _, text := range []string{"first", "second"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", i.Mode(), err)
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if Write(taken, nil) == nil {
		t.Error("a file has taken the place of a folder")
	}
	if all, _ := os.ReadDir(dir); len(all) != 2 {
		t.Errorf("left beside it: %v", all)
	}
}
