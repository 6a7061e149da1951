package lengths_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core/lengths"
)

// What is left is the mean of those that ran for longer, of the narrowest class of
// which enough have ended.
func TestWhatIsLeft(t *testing.T) {
	t.Parallel()
	narrow, wide := lengths.Class{Key: "a|8", Least: 3}, lengths.Class{Key: "a", Least: 5}
	both := []lengths.Class{narrow, wide}
	var b lengths.Book
	if got := b.Left(both, 0); got != 0 {
		t.Errorf("before any has ended: %d, want 0", got)
	}
	for _, ms := range []int64{100, 300} {
		b.Note([]lengths.Class{wide}, lengths.Length{Ms: ms})
	}
	for _, ms := range []int64{1000, 2000, 6000} {
		b.Note(both, lengths.Length{Ms: ms})
	}
	for _, c := range []struct {
		classes     []lengths.Class
		since, want int64
		why         string
	}{
		{both, 0, 3000, "the mean of the narrow class"},
		{both, 1500, 2500, "of those longer than 1500: 500 and 4500"},
		{both, 6000, 6000, "it has outlived all: as long again"},
		{[]lengths.Class{wide}, 0, 1880, "the mean of all five"},
		{[]lengths.Class{{Key: "a|8", Least: 4}, wide}, 0, 1880, "too few of the narrow class"},
		{[]lengths.Class{{Key: "b", Least: 1}}, 0, 0, "nothing is known"},
		{[]lengths.Class{{Key: "b", Least: 1}}, 500, 0, "nor when it has run"},
	} {
		if got := b.Left(c.classes, c.since); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
}

// What was cut short counts for as long as it ran: of two, of which one ended after
// 1000 and the other was stopped there, at least half would have gone on.
func TestWhatWasCutShortIsNoEnd(t *testing.T) {
	t.Parallel()
	c := []lengths.Class{{Key: "a", Least: 2}}
	var b lengths.Book
	b.Note(c, lengths.Length{Ms: 1000})
	b.Note(c, lengths.Length{Ms: 500, Cut: true})
	b.Note(c, lengths.Length{Ms: 3000})
	if got := b.Left(c, 0); got != 2000 { // 1000, and with one half until 3000
		t.Errorf("%d, want 2000", got)
	}
	if got := b.Left([]lengths.Class{{Key: "a", Least: 3}}, 0); got != 0 {
		t.Errorf("what was cut short counts as an end: %d, want 0", got)
	}
}

// Only the last lengths of a class count.
func TestOldLengthsAreForgotten(t *testing.T) {
	t.Parallel()
	c := []lengths.Class{{Key: "a", Least: 1}}
	var b lengths.Book
	for range 64 {
		b.Note(c, lengths.Length{Ms: 9000})
	}
	for i := range 64 {
		b.Note(c, lengths.Length{Ms: 1000})
		if want := (9000*int64(63-i) + 1000*int64(i+1)) / 64; b.Left(c, 0) != want {
			t.Fatalf("after %d short ones: %d, want %d", i+1, b.Left(c, 0), want)
		}
	}
}

// Classes are bounded, the oldest going first.
func TestOldClassesAreForgotten(t *testing.T) {
	t.Parallel()
	var b lengths.Book
	for i := range 20_001 {
		b.Note([]lengths.Class{{Key: fmt.Sprint(i), Least: 1}}, lengths.Length{Ms: 1000})
	}
	if b.Left([]lengths.Class{{Key: "0", Least: 1}}, 0) != 0 || b.Left([]lengths.Class{{Key: "1", Least: 1}}, 0) != 1000 {
		t.Error("not the first class was forgotten")
	}
}
