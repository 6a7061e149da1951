package simulate

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDefaultsAreWrittenAsTheyAre(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]string{0: "0s", 60: "1m", 1800: "30m", 43200: "12h", 5400: "1h30m"} {
		if got := durationText(time.Duration(seconds) * time.Second); got != want {
			t.Errorf("%d seconds are written %s, want %s", seconds, got, want)
		}
	}
}

// A report that cannot be written leaves the one that was there, and nothing
// beside it.
func TestAReportAppearsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.txt")
	for _, text := range []string{"first, which is longer", "second"} {
		if err := writeWhole(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("it says %q, %v", got, err)
		}
	}
	if err := writeWhole(filepath.Join(dir, "missing", "report.txt"), nil); err == nil {
		t.Error("it was written to a folder that does not exist")
	}
	if err := os.Symlink(file, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(filepath.Join(dir, "link"), []byte("through")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "through" {
		t.Errorf("a link was replaced: %q", got)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 2 {
		t.Errorf("left are %v, %v", all, err)
	}
}
