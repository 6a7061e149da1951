package reported

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var begin = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func every(Key) bool { return true }

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func of(t *testing.T, s *Store, id string, points int) map[Key]Curve {
	t.Helper()
	list, _, err := s.Of(id, every, points)
	if err != nil {
		t.Fatal(err)
	}
	out := map[Key]Curve{}
	for _, c := range list {
		out[c.Key] = c
	}
	return out
}

// However many reports there are, a curve stays as long as a chart, its points are
// means of what they stand for, and what is told of the whole is exact.
func TestACurveIsShortAndTrue(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		c, most := newCurve(Key{}), 2+rnd.IntN(40)
		var all []float64
		for i := range 1 + rnd.IntN(3000) {
			v := rnd.Float64()*2 - 1
			all = append(all, v)
			c.add(int64(i), begin.Add(time.Duration(i)*time.Second), v, most)
		}
		if len(c.Points) > most || most > 4 && len(all) >= most && len(c.Points) < most/2 {
			t.Fatalf("seed %d: %d reports are %d points of %d", seed, len(all), len(c.Points), most)
		}
		at := 0
		for i, p := range c.Points {
			end := min(at+c.Per, len(all))
			sum := 0.0
			for _, v := range all[at:end] {
				sum += v
			}
			if mean := sum / float64(end-at); math.Abs(mean-p.Value) > 1e-9 || p.Step != int64(end-1) {
				t.Fatalf("seed %d: point %d is %v at step %d; reports %d to %d are %v in the mean", seed, i, p.Value, p.Step, at, end, mean)
			}
			at = end
		}
		if at != len(all) {
			t.Fatalf("seed %d: points stand for %d of %d reports", seed, at, len(all))
		}
		if c.Min != all[c.MinStep] || c.Max != all[c.MaxStep] || c.Last != all[len(all)-1] || c.Reports != len(all) {
			t.Fatalf("seed %d: %+v", seed, c)
		}
		for _, v := range all {
			if v < c.Min || v > c.Max {
				t.Fatalf("seed %d: %v is not between %v and %v", seed, v, c.Min, c.Max)
			}
		}
	}
}

func TestCurvesOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 400 {
		s.Add("a", Report{Task: i % 2, Step: int64(i), Metrics: map[string]float64{"loss": 1 / float64(i+1)}, At: begin.Add(time.Duration(i) * time.Second)}, 0)
	}
	if err := s.Save(begin); err != nil {
		t.Fatal(err)
	}
	was := of(t, s, "a", 0)
	if len(was) != 4 || was[Key{0, 1, "loss"}].Reports != 200 || was[Key{0, 1, ""}].Last != 399 {
		t.Fatalf("%d curves: %+v", len(was), was[Key{0, 1, "loss"}])
	}
	s = open(t, dir)
	s.Add("a", Report{Attempt: 1, Step: 400, At: begin.Add(time.Hour)}, 0) // it goes on where it was
	now := of(t, s, "a", 0)
	if fmt.Sprint(now[Key{0, 1, "loss"}]) != fmt.Sprint(was[Key{0, 1, "loss"}]) || len(now) != 5 {
		t.Errorf("%d curves; %+v", len(now), now[Key{0, 1, "loss"}])
	}
	if few := of(t, s, "a", 100)[Key{0, 1, "loss"}]; len(few.Points) > 100 || len(few.Points) < 50 || few.Min != was[Key{0, 1, "loss"}].Min {
		t.Errorf("thinned to 100: %d points", len(few.Points))
	}
	if n := len(of(t, s, "a", 0)[Key{0, 1, "loss"}].Points); n != 200 {
		t.Errorf("thinning has changed what is kept: %d points", n)
	}
	// What rests is let go of, and read again when somebody asks.
	if err := s.Save(begin.Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(begin.Add(2 * time.Hour)); err != nil || len(s.all) != 0 {
		t.Errorf("%d in memory, %v", len(s.all), err)
	}
	if n := len(of(t, s, "a", 0)); n != 5 {
		t.Errorf("%d curves are read again", n)
	}
}

func TestASweepHasFewPointsOfEach(t *testing.T) {
	s := open(t, "")
	for step := range 200 {
		for task := range 1500 {
			s.Add("a", Report{Task: task, Step: int64(step), Metrics: map[string]float64{"loss": 1}, At: begin}, 0)
		}
	}
	list, whole, err := s.Of("a", every, 0)
	if err != nil || whole || len(list) != curvesMost {
		t.Fatalf("%d curves, whole %v, %v", len(list), whole, err)
	}
	for _, c := range list {
		if len(c.Points) > pointsFew {
			t.Fatalf("%+v has %d points", c.Key, len(c.Points))
		}
	}
}

func TestATaskIsHeardOnceInAGap(t *testing.T) {
	s := open(t, "")
	for i, want := range []bool{true, false, true} {
		if got := s.Add("a", Report{Step: 1, At: begin.Add(time.Duration(i) * 60 * time.Millisecond)}, 100*time.Millisecond); got != want {
			t.Errorf("report %d: %v", i, got)
		}
	}
	if !s.Add("a", Report{Task: 1, At: begin}, 100*time.Millisecond) {
		t.Error("another task was not heard")
	}
}

func TestCurvesGoWithTheirWorkload(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, id := range []string{"here", "gone"} {
		s.Add(id, Report{Step: 1, At: begin}, 0)
	}
	if err := s.Save(begin); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(func(id string) (bool, error) { return id == "gone", nil }); err != nil {
		t.Fatal(err)
	}
	if len(of(t, s, "gone", 0)) != 0 || len(of(t, s, "here", 0)) != 1 {
		t.Error("it is not the gone one that went")
	}
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err != nil {
		t.Error("a file of somebody else was removed")
	}
}

// A file that is broken costs the chart, not the report.
func TestABrokenFileIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"form":1,"curves":[{`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if _, _, err := s.Of("a", every, 0); err == nil {
		t.Error("a broken file reads like an empty one")
	}
	if !s.Add("a", Report{Step: 1, At: begin}, 0) || s.Save(begin) != nil || len(of(t, s, "a", 0)) != 1 {
		t.Error("it was not begun anew")
	}
}
