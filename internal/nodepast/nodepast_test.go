package nodepast_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/nodepast"
)

var noon = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

const gap = time.Minute

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

func ms(minutes float64) int64 { return at(minutes).UnixMilli() }

type all = map[string]nodepast.Health

// What a node was like is told from the look that saw it to the one that saw something
// else; of a time in which nobody looked nothing is told.
func TestHowNodesWere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nodes-past.json")
	l := nodepast.New(path)
	down, shut := nodepast.Health{NotReady: true}, nodepast.Health{Cordoned: true, Draining: true, Broken: []string{"g3"}}
	l.Look(at(0), gap, all{"a": {}, "b": {}})
	l.Look(at(.5), gap, all{"a": down, "b": shut})
	l.Look(at(1), gap, all{"a": {}, "b": shut})
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	l = nodepast.New(path)
	if err := l.Load(); err != nil {
		t.Fatal(err)
	}
	// It stood still for ten minutes: b is so still, and of the time between nobody knows.
	l.Look(at(11), gap, all{"a": {}, "b": shut})
	l.Look(at(11.5), gap, all{"a": {}}) // b is no longer there
	looked, spans := l.Between(at(-60), at(60))
	if want := []nodepast.Stretch{{From: ms(0), To: ms(1)}, {From: ms(11), To: ms(11.5)}}; !reflect.DeepEqual(looked, want) {
		t.Errorf("looked %v, not %v", looked, want)
	}
	want := []nodepast.Span{
		{Node: "a", From: ms(.5), To: ms(1), Health: down},
		{Node: "b", From: ms(.5), To: ms(1), Health: shut},
		{Node: "b", From: ms(11), To: ms(11.5), Health: shut},
	}
	if !reflect.DeepEqual(spans, want) {
		t.Errorf("spans %+v, not %+v", spans, want)
	}
	if looked, spans = l.Between(at(.7), at(.8)); len(looked) != 1 || looked[0] != (nodepast.Stretch{From: ms(.7), To: ms(.8)}) || len(spans) != 2 {
		t.Errorf("within a minute %v, %v", looked, spans)
	}
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	l := nodepast.New("")
	for i := range 2 * 60 * 27 { // 27 hours
		l.Look(at(float64(i)/2), gap, all{"a": {NotReady: i%2 == 0}})
	}
	end := at(27 * 60)
	looked, spans := l.Between(noon, end)
	if first := time.UnixMilli(looked[0].From); len(looked) != 1 || end.Sub(first) > nodepast.Kept+time.Minute || end.Sub(first) < 24*time.Hour {
		t.Errorf("it is known since %v", looked)
	}
	if age := end.Sub(time.UnixMilli(spans[0].From)); age > nodepast.Kept+2*time.Minute || age < 24*time.Hour {
		t.Errorf("the first span is %s old", age)
	}
	// Of very many changes the oldest go, and with them what is known of that time.
	l = nodepast.New("")
	many := func(down bool) all {
		out := all{}
		for i := range 300 {
			out[string(rune('a'+i))] = nodepast.Health{NotReady: down}
		}
		return out
	}
	for i := range 200 {
		l.Look(at(float64(i)/2), gap, many(i%2 == 0))
	}
	looked, spans = l.Between(noon, end)
	if len(spans) > 20_000 || looked[0].From <= noon.UnixMilli() || looked[0].From > spans[len(spans)-1].To {
		t.Errorf("%d spans, known since %v", len(spans), looked)
	}
}

func TestABrokenFileIsNoEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nodes-past.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := nodepast.New(path)
	if err := l.Load(); err == nil || !strings.Contains(err.Error(), "nodes were") {
		t.Errorf("%v", err)
	}
	l.Look(noon, gap, all{"a": {CutOff: true}})
	if _, spans := l.Between(noon, noon); len(spans) != 1 || spans[0].To != 0 {
		t.Errorf("%v", spans)
	}
}
