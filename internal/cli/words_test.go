package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/nearest"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "-", "a": "a", "n1": "n1", "n1 n2 n3": "n[1-3]", "g-a03 g-a01 g-a02 g-a07": "g-a[01-03,07]", "n1 n1": "n1", "n9 n10": "n10,n9",
		"a1 b1 login": "a1,b1,login", "n99999999999999999999 n1": "n1,n99999999999999999999",
	} {
		if got := printers.Fold(strings.Fields(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestLengths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d           time.Duration
		age, length string
	}{
		{-time.Second, "0s", "0.00s"}, {420 * time.Millisecond, "0s", "0.42s"}, {12345 * time.Millisecond, "12s", "12.3s"},
		{90 * time.Second, "90s", "1m30s"}, {5 * time.Minute, "5m", "5m00s"}, {2 * time.Hour, "2h", "2h00m"}, {3*time.Hour + 12*time.Minute, "3h12m", "3h12m"},
		{26 * time.Hour, "26h", "26h00m"}, {100 * time.Hour, "4d", "4d04h"},
	} {
		if a, l := session.Age(c.d), session.Length(c.d); a != c.age || l != c.length {
			t.Errorf("%s: %s %s, want %s %s", c.d, a, l, c.age, c.length)
		}
	}
}

func TestParseWhen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"2d": noon.Add(-48 * time.Hour), "5m": noon.Add(-5 * time.Minute), "2026-01-02": time.Date(2026, 1, 2, 0, 0, 0, 0, time.Local),
		"2026-01-02T03:04:05Z": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	} {
		if got, err := session.ParseWhen("since", text, noon); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	if _, err := session.ParseWhen("since", "tomorrow", noon); err == nil {
		t.Error("tomorrow is understood")
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"train", "trial", "describe", "sweep-one", "sweep-two"}
	for word, want := range map[string]string{
		"trian": "train trial", "descrbe": "describe", "sweep": "sweep-one sweep-two", "zzz": "", "": "", "tr": "", "trial": "",
	} {
		if got := strings.Join(nearest.Words(word, known), " "); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1536: "1.5Ki", 16 << 30: "16Gi", 3 << 29: "1.5Gi", 1 << 62: "4096Pi"} {
		if got := printers.Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"äöü", 3, "äöü"}, {"äöüx", 3, "äö…"}, {"ab", 1, "…"}, {"ab", 0, "…"}} {
		if got := session.Cut(c.text, c.n); got != c.want {
			t.Errorf("%q to %d: %q", c.text, c.n, got)
		}
	}
}

func TestColumnsAreChosen(t *testing.T) {
	t.Parallel()
	all := printers.WorkloadColumns(session.Moments{Now: noon}, "")
	cols, err := session.Choose(all, []string{"status", "NAME"}, false)
	if err != nil || len(cols) != 2 || cols[0].Title != "STATUS" {
		t.Errorf("%v %v", cols, err)
	}
	narrow, _ := session.Choose(all, nil, false)
	wide, _ := session.Choose(all, nil, true)
	if len(narrow) >= len(wide) || slices.ContainsFunc(narrow, func(c session.Column[api.Workload]) bool { return c.Wide }) {
		t.Errorf("%d narrow, %d wide", len(narrow), len(wide))
	}
}

// TestAStatusIsAWordOfTheDialect asks for a status that is a phase as well, and
// that the dialect says of another phase too.
func TestAStatusIsAWordOfTheDialect(t *testing.T) {
	f := inspect.FilterFlags{Status: []string{"deleted", "Queued"}}
	q, err := f.Query(&session.Session{Now: time.Now, Env: func(string) string { return "" }}, session.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	in := q.InDialect("runai-job")
	if !slices.Equal(in.Words, []string{"Deleted"}) || !slices.Equal(in.Options.Phases, []string{"Queued"}) || !in.AsksDeleted("runai-job") {
		t.Errorf("in words of Run:ai it asks for %v and the phases %v", in.Words, in.Options.Phases)
	}
	if own := q.InDialect(""); len(own.Words) > 0 || len(own.Options.Phases) != 2 {
		t.Errorf("without a dialect it asks for %v and the phases %v", own.Words, own.Options.Phases)
	}
	leaving := &api.Workload{Phase: "Deleting", Statuses: map[string]api.Status{"runai-job": {Status: "Deleted"}}}
	if l := (&inspect.Listing{O: &inspect.GetOptions{Dialect: "runai-job"}}); !l.Matches(leaving, in.Words) {
		t.Error("what is being deleted is Deleted in words of Run:ai, and not listed")
	}
}
