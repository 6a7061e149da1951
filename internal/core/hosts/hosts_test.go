package hosts

import (
	"slices"
	"strings"
	"testing"
)

func TestAnAnnotationIsReadAsItIsWritten(t *testing.T) {
	const text = "train-{0..3}.net.lab.svc rl-worker-{0..1}-{0..2}=1 store=0 ddp=0-3 web=* db.lab.svc=@db head-0.chat=0"
	entries := Parse(text)
	if got := Write(append(entries, entries...)); got != text {
		t.Errorf("%q became %q", text, got)
	}
	if e := entries[0]; e.Host != "train-{0..3}" || e.Domain != "net" || e.Space != "lab" || !e.Counted() || e.Service() {
		t.Errorf("%+v", e)
	}
	if e := entries[5]; e.Of != "db" || e.Space != "lab" || e.Service() {
		t.Errorf("%+v", e)
	}
	if !entries[3].Service() || !entries[4].Service() || entries[6].Service() {
		t.Errorf("%+v", entries)
	}
}

func TestWhatIsNoEntryIsPassedOver(t *testing.T) {
	for _, word := range []string{"", "a", "A=0", "a{0..1=0", "a{1..0}", "a{0..9999}", "a{0..99}{0..99}", "a=-1", "a=2-1", "a{0..1}=*", "a{0..1}=0-1", "a{0..1}=@b", "a=@", "a_b=0", "a.svc", ".svc=0", "a..b.svc=0", "a.B=0", "a.{0..1}=0"} {
		if got := Parse(word); len(got) > 0 {
			t.Errorf("%q is %+v", word, got)
		}
	}
	if got := Parse(strings.Repeat("a{0..1023}-b ", 6)); len(got) != 4 {
		t.Errorf("%d entries", len(got))
	}
}

func TestNamesAreThoseOfACluster(t *testing.T) {
	if got := Each("rl-{0..1}-{8..10}"); !slices.Equal(got, []string{"rl-0-8", "rl-0-9", "rl-0-10", "rl-1-8", "rl-1-9", "rl-1-10"}) {
		t.Errorf("%q", got)
	}
	e := Parse("a-{0..1}.net")[0]
	if got := e.Full("a-0", "lab"); !slices.Equal(got, []string{"a-0", "a-0.net", "a-0.net.lab", "a-0.net.lab.svc", "a-0.net.lab.svc.cluster.local"}) {
		t.Errorf("%q", got)
	}
	e = Parse("store.other.svc=0")[0]
	if got := e.Full("store", "lab"); !slices.Equal(got, []string{"store", "store.other", "store.other.svc", "store.other.svc.cluster.local"}) {
		t.Errorf("%q", got)
	}
}
