package waited

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func everyone(string, string) bool { return true }

func TestHoursAreSumsOfWhatWaitedInThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waited.json")
	l := New(path)
	vision, nlp := Key{"vision", "ann", "WaitingForCapacity"}, Key{"nlp", "bob", "OverLimit"}
	l.Add(vision, 2, 30*time.Minute, noon.Add(15*time.Minute)) // over the full hour
	l.Add(nlp, 4, time.Hour, noon)
	l.Add(nlp, 0, time.Hour, noon)
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	again := New(path)
	if err := again.Load(); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*Ledger{"as it was made": l, "as it was read": again} {
		all, since := l.Hours(noon.Add(-24*time.Hour), noon.Add(24*time.Hour), everyone)
		if want := map[string]float64{"WaitingForCapacity": 1, "OverLimit": 4}; !maps.EqualFunc(all, want, near) || !since.Equal(noon.Add(-time.Hour)) {
			t.Errorf("%s: %v since %v, not %v", name, all, since, want)
		}
		if part, _ := l.Hours(noon, noon.Add(time.Hour), everyone); !maps.EqualFunc(part, map[string]float64{"WaitingForCapacity": 0.5}, near) {
			t.Errorf("%s: from noon on %v", name, part)
		}
		// Half of the hour from eleven on is in it.
		if part, _ := l.Hours(noon.Add(-30*time.Minute), noon, everyone); !maps.EqualFunc(part, map[string]float64{"WaitingForCapacity": 0.25, "OverLimit": 2}, near) {
			t.Errorf("%s: in the half hour before noon %v", name, part)
		}
		mine, _ := l.Hours(noon.Add(-24*time.Hour), noon.Add(24*time.Hour), func(project, user string) bool { return project == "nlp" && user == "bob" })
		if !maps.EqualFunc(mine, map[string]float64{"OverLimit": 4}, near) {
			t.Errorf("%s: of one person %v", name, mine)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func TestWhatIsOldOrTooMuchIsForgotten(t *testing.T) {
	l := New("")
	l.Add(Key{Reason: "old"}, 1, time.Minute, noon.Add(-Kept-2*time.Hour))
	l.Add(Key{Reason: "new"}, 1, time.Minute, noon)
	all, since := l.Hours(time.Time{}, noon, everyone)
	if len(all) != 1 || all["new"] == 0 || since.Before(noon.Add(-Kept-time.Hour)) {
		t.Errorf("kept are %v since %v", all, since)
	}
	for i := range entriesMost + 1 {
		l.Add(Key{User: fmt.Sprint(i)}, 1, time.Minute, noon.Add(time.Hour))
	}
	if _, since := l.Hours(noon, noon.Add(time.Hour), everyone); l.entries > entriesMost+1 || !since.After(noon.Add(-time.Hour)) {
		t.Errorf("%d are kept, since %v", l.entries, since)
	}
}

func TestAFileThatCannotBeReadIsSaidAndBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waited.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(path)
	if err := l.Load(); err == nil || !strings.Contains(err.Error(), "waited") {
		t.Errorf("it says %v", err)
	}
	l.Add(Key{Reason: "x"}, 1, time.Minute, noon)
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	if err := New(path).Load(); err != nil {
		t.Error(err)
	}
}
