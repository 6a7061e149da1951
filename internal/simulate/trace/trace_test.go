package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/simulate/trace"
)

func TestPhillyIsReadWhole(t *testing.T) {
	t.Parallel()
	jobs, err := trace.Open(filepath.Join("testdata", "philly.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 82247 {
		t.Errorf("%d jobs, want 82247", len(jobs))
	}
	if last := jobs[len(jobs)-1].Submit; jobs[0].Submit != 0 || last != 9408690 {
		t.Errorf("submissions from %d to %d, want 0 to 9408690", jobs[0].Submit, last)
	}
	var work int64
	for i, j := range jobs {
		work += j.Duration * int64(j.GPUs)
		if j.ID != i || i > 0 && j.Submit < jobs[i-1].Submit {
			t.Fatalf("job %d is %+v, out of order", i, j)
		}
	}
	if work != 3521082502 {
		t.Errorf("%d GPU-seconds of work, want 3521082502", work)
	}
}

func TestColumnsAreFoundByName(t *testing.T) {
	t.Parallel()
	const table = "\ufeffuser name,GPUs,Queue,submit_s,duration_s\n" +
		"x,2,vision,1060.7,10.2\n" +
		"\n" +
		"y,1,\"a, b\",1000,1\n" +
		"z,16,vision,1060,3600\n"
	want := []trace.Job{
		{ID: 0, Submit: 0, Duration: 1, GPUs: 1, Project: "a, b"},
		{ID: 1, Submit: 60, Duration: 11, GPUs: 2, Project: "vision"},
		{ID: 2, Submit: 60, Duration: 3600, GPUs: 16, Project: "vision"},
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(table))
	z.Close()
	for name, text := range map[string]string{"plain": table, "gzip": packed.String()} {
		got, err := trace.Read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestTimesAreReadWithAndWithoutZone(t *testing.T) {
	t.Parallel()
	jobs, err := trace.Read(strings.NewReader("submit,duration,gpus\n2017-10-09 07:01:55,5,1\n2017-10-09T09:01:56+02:00,5,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if jobs[1].Submit != 1 {
		t.Errorf("second submission at %d s, want 1", jobs[1].Submit)
	}
}

func TestErrorsNameLineAndColumn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		line   int
		column string
		says   string
	}{
		{"submit,duration\n1,2\n", 1, "", "no column gpus (or num_gpus"},
		{"submit,duration,num_gpus\n1,2,1\n1,2,x\n", 3, "num_gpus", `"x": want a whole number`},
		{"submit,duration,gpus\n1,2,0\n", 2, "gpus", "from 1"},
		{"submit,duration,gpus\n1,2,1.5\n", 2, "gpus", "whole number"},
		{"submit,duration_s,gpus\n1,0,1\n", 2, "duration_s", "more than 0"},
		{"submit,duration,gpus\n1,NaN,1\n", 2, "duration", "number of seconds"},
		{"submit,duration,gpus\n1,1e300,1\n", 2, "duration", "up to"},
		{"timestamp,duration,gpus\nyesterday,1,1\n", 2, "timestamp", "want seconds, or a time"},
		{"submit,duration,gpus\n\n1,1\n", 3, "", "2 fields, but the header has 3"},
	} {
		_, err := trace.Read(strings.NewReader(c.text))
		var e *trace.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: error %v, want one with a place", c.text, err)
			continue
		}
		if e.Line != c.line || e.Column != c.column || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v; want line %d, column %q, saying %q", c.text, err, c.line, c.column, c.says)
		}
	}
	for _, text := range []string{"", "submit,duration,gpus\n", "\x1f\x8bno gzip", "submit,duration,gpus\n\"1,2,3\n"} {
		if _, err := trace.Read(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "trace: ") {
			t.Errorf("%q: error %v, want one of this package", text, err)
		}
	}
}

func TestScaleRoundsUp(t *testing.T) {
	t.Parallel()
	jobs := []trace.Job{{Duration: 1}, {Duration: 5}, {Duration: 6}}
	got, err := trace.Scale(jobs, 120)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Duration != 2 || got[1].Duration != 6 || got[2].Duration != 8 || jobs[0].Duration != 1 {
		t.Errorf("scaled %+v, original %+v; want 2, 6, 8 and the original untouched", got, jobs)
	}
	if _, err := trace.Scale(jobs, 0); err == nil {
		t.Error("0 % is accepted")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("submit,duration,gpus,project\n1,2,3,a\n"))
	f.Add([]byte("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		jobs, err := trace.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for i, j := range jobs {
			if j.ID != i || j.Submit < 0 || j.Duration < 1 || j.GPUs < 1 {
				t.Fatalf("job %d of %q is %+v", i, text, j)
			}
		}
	})
}
