package timeseries

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

var begin = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

func key(n int) Key { return Key{"task:" + strconv.Itoa(n), "cpu_cores"} }

func TestAnHourIsFineAndADayCoarse(t *testing.T) {
	s := New(Options{})
	now := begin
	for i := range 9000 { // 25 hours
		now = begin.Add(time.Duration(i) * 10 * time.Second)
		s.Add(now, Point{Key: key(0), Value: float64(i)})
	}
	r := s.Range(now.Add(-30*time.Minute), now, 0, now)
	got := s.Query(key(0), r)
	if r.Step != 10*time.Second || r.Count != 180 {
		t.Fatalf("half an hour is %d steps of %v", r.Count, r.Step)
	}
	for i, v := range got {
		if want := r.From.Add(time.Duration(i)*r.Step).Sub(begin).Seconds() / 10; v != want {
			t.Fatalf("step %d: %v, want %v", i, v, want)
		}
	}
	r = s.Range(begin, now, 0, now)
	got = s.Query(key(0), r)
	if r.Step != time.Minute || r.Count < 1439 || r.Count > 1442 {
		t.Fatalf("a day is %d steps of %v", r.Count, r.Step)
	}
	if v := got[700]; math.IsNaN(v) || v != r.From.Add(700*time.Minute).Sub(begin).Seconds()/10+2.5 {
		t.Errorf("in the middle of the day: %v", v)
	}
	if r := s.Range(begin, now, 7*time.Minute, now); r.Step != 7*time.Minute {
		t.Errorf("asked for steps of 7 m: %v", r.Step)
	}
	if r := s.Range(now.Add(-time.Minute), now, 13*time.Second, now); r.Step != 20*time.Second {
		t.Errorf("asked for steps of 13 s of what is kept every 10 s: %v", r.Step)
	}
	if n := s.Stats().Bytes; n > 8000 {
		t.Errorf("one series takes %d bytes", n)
	}
}

func TestWhatIsOlderThanADayHasNoSteps(t *testing.T) {
	s := New(Options{})
	s.Add(begin, Point{Key: key(0), Value: 1})
	r := s.Range(begin.Add(-72*time.Hour), begin.Add(-48*time.Hour), 0, begin)
	if r.Count != 0 {
		t.Errorf("two days ago there are %d steps", r.Count)
	}
	if got := s.Query(key(0), r); got != nil {
		t.Errorf("two days ago there are values: %v", got)
	}
}

// TestRingIsAMap compares a ring with a map of all that it was told.
func TestRingIsAMap(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r := ring{step: 10, most: 1 + rnd.IntN(100)}
		most := r.most
		want := map[int64]float64{}
		second, last := int64(1_000_000), int64(0)
		for range 300 {
			second += rnd.Int64N(25)
			if rnd.IntN(50) == 0 {
				second += rnd.Int64N(3000)
			}
			slot := second / 10
			if slot == last {
				continue
			}
			last = slot
			v := float64(rnd.IntN(1000))
			r.add(second, v, func(int) bool { return true })
			want[slot] = v
			for s := slot - int64(most) - 5; s <= slot+1; s++ {
				w, ok := want[s]
				if s <= slot-int64(most) {
					ok = false
				}
				got := r.mean(s*10, s*10+10)
				if ok != !math.IsNaN(got) || ok && got != w {
					t.Fatalf("seed %d, slot %d of %d: %v, want %v (%v)", seed, s, slot, got, w, ok)
				}
			}
		}
	}
}

func TestGapsAndNonsenseStayUnknown(t *testing.T) {
	s := New(Options{})
	s.Add(begin, Point{Key: key(0), Value: 1})
	s.Add(begin.Add(10*time.Second), Point{Key: key(0), Value: -1})
	s.Add(begin.Add(20*time.Second), Point{Key: key(0), Value: math.NaN()})
	s.Add(begin.Add(30*time.Second), Point{Key: key(0), Value: 3}, Point{Key: key(0), Value: 5})
	s.Add(begin.Add(-time.Hour), Point{Key: key(0), Value: 100}) // the clock was set back
	now := begin.Add(40 * time.Second)
	got := s.Query(key(0), s.Range(begin, now, 0, now))
	if len(got) != 4 || got[0] != 1 || !math.IsNaN(got[1]) || !math.IsNaN(got[2]) || got[3] != 4 {
		t.Errorf("%v, want 1, unknown, unknown, 4", got)
	}
	if s.Query(key(1), s.Range(begin, now, 0, now)) != nil {
		t.Error("something is known of what was never told")
	}
	if s.Query(key(0), s.Range(now.Add(time.Hour), now.Add(2*time.Hour), 0, now.Add(2*time.Hour))) != nil {
		t.Error("something is known of the future")
	}
}

func TestThereIsABound(t *testing.T) {
	const most = 1 << 20
	s := New(Options{Max: most})
	now := begin
	step := func(from, to int) {
		now = now.Add(10 * time.Second)
		points := make([]Point, 0, to-from)
		for n := from; n < to; n++ {
			points = append(points, Point{Key: key(n), Value: 1})
		}
		s.Add(now, points...)
	}
	for i := range 2000 { // every 100 s ten tasks end and ten others begin
		step(i/10*10, i/10*10+50)
		if st := s.Stats(); st.Bytes > most {
			t.Fatalf("after %d steps %d bytes of %d are used", i, st.Bytes, most)
		}
	}
	st := s.Stats()
	if st.Refused > 0 {
		t.Errorf("%d values were refused though what has ended could make room", st.Refused)
	}
	if st.Bytes < most/2 {
		t.Errorf("only %d bytes are used: what could be kept was not", st.Bytes)
	}
	if _, ok := s.Last(key(1990), now); !ok {
		t.Error("what runs was dropped")
	}
	if s.Query(key(0), s.Range(begin, now, 0, now)) != nil {
		t.Error("what ended first is still there")
	}
	for range 50 { // more than there is room for, and all of it lives
		step(5000, 15000)
	}
	if st := s.Stats(); st.Bytes > most || st.Refused == 0 {
		t.Errorf("%d bytes of %d, %d refused", st.Bytes, most, st.Refused)
	}
}

func TestAFileIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series")
	s := New(Options{})
	now := begin
	for i := range 5000 {
		now = begin.Add(time.Duration(i) * 10 * time.Second)
		s.Add(now, Point{Key: key(0), Value: float64(i)}, Point{Key: Key{"device:n/g", "gpu_power_watts"}, Value: 100, Slow: true})
		if i < 100 {
			s.Add(now, Point{Key: key(1), Value: 7})
		}
	}
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	again := New(Options{})
	if err := again.Load(path, now); err != nil {
		t.Fatal(err)
	}
	if a, b := s.Stats(), again.Stats(); a.Series != b.Series || b.Series != 3 {
		t.Errorf("%d series were read, %d written", b.Series, a.Series)
	}
	for _, k := range []Key{key(0), key(1), {"device:n/g", "gpu_power_watts"}} {
		r := s.Range(begin, now, 0, now)
		a, b := s.Query(k, r), again.Query(k, r)
		for i := range a {
			if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
				t.Fatalf("%v: step %d was %v and is %v", k, i, a[i], b[i])
			}
		}
	}
	again.Add(now.Add(5*time.Minute), Point{Key: key(0), Value: 1}) // it goes on from there
	if v, ok := again.Last(key(0), now); !ok || v != 1 {
		t.Errorf("after it was read back: %v, %v", v, ok)
	}
	late := New(Options{})
	if err := late.Load(path, now.Add(25*time.Hour)); err != nil || late.Stats().Series != 0 {
		t.Errorf("a day later: %v, %d series", err, late.Stats().Series)
	}
}

func TestBrokenFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "series")
	if err := New(Options{}).Load(path, begin); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
	s := New(Options{})
	s.Add(begin, Point{Key: key(0), Value: 1})
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		bad := append([]byte(nil), whole[:rnd.IntN(len(whole)+1)]...)
		if len(bad) > 0 && rnd.IntN(2) == 0 {
			bad[rnd.IntN(len(bad))] ^= byte(1 + rnd.IntN(255))
		}
		if string(bad) == string(whole) {
			continue
		}
		x := New(Options{})
		if err := x.read(bad, begin.Unix()); err == nil || x.Stats().Series != 0 {
			t.Fatalf("%d bytes of %d were taken: %v", len(bad), len(whole), err)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) { // behind a sum that is right
		r := reader{data: body}
		for r.byte() == 1 && !r.short {
			r.text()
			r.number()
			g := r.ring()
			if !r.short && g.step > 0 {
				g.mean(g.first*g.step, g.first*g.step+100)
				g.add((g.last+1)*g.step, 1, func(int) bool { return true })
			}
		}
	})
}
