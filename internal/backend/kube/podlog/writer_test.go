package podlog

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/logfile"
	"github.com/musterhq/muster/internal/core"
)

var taskOne = core.TaskID{Workload: "w", Attempt: 1, Index: 2}

// record is a line as a runtime keeps it: a part of one where it is partial.
type record struct {
	at      time.Time
	text    string
	partial bool
}

// kubelet sends records as a kubelet does that was asked for what came since
// then, with times.
func kubelet(records []record, since time.Time) string {
	var b strings.Builder
	begin := true
	for _, r := range records {
		if !r.at.Before(since) {
			if begin {
				b.WriteString(r.at.Format("2006-01-02T15:04:05.000000000Z07:00") + " ")
			}
			b.WriteString(r.text)
			if !r.partial {
				b.WriteString("\n")
			}
		}
		begin = !r.partial
	}
	return b.String()
}

// output is what the log shall be.
func output(records []record) string {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.text)
		if !r.partial {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func newTape(t *testing.T, dir string) *tape {
	t.Helper()
	l := &Logs{dir: logfile.Dir(dir)}
	if err := l.touch(taskOne); err != nil {
		t.Fatal(err)
	}
	return &tape{f: &feed{l: l, id: taskOne, readers: map[chan struct{}]struct{}{}}}
}

func logOf(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(logfile.Dir(dir).Log(taskOne))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var dawn = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// randomRecords are lines of all sorts, some at the same moment, some not in
// the order of their times, as those of two streams may be.
func randomRecords(r *rand.Rand, at *time.Time) []record {
	var out []record
	for range 1 + r.IntN(60) {
		switch r.IntN(5) {
		case 0: // the same moment
		case 1:
			*at = at.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		default:
			*at = at.Add(time.Duration(r.IntN(3_000_000)))
		}
		x := record{at: *at, text: strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(30)), partial: r.IntN(8) == 0}
		if r.IntN(10) == 0 {
			x.text = fmt.Sprintf("%s %s", dawn.Format(time.RFC3339Nano), x.text) // output that looks like ours
		}
		out = append(out, x)
	}
	out[len(out)-1].partial = r.IntN(3) == 0
	return out
}

// TestTapeGoesOnWhereItEnded: whatever breaks, and wherever, the log has every
// byte once.
func TestTapeGoesOnWhereItEnded(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		at := dawn
		parts := [][]record{randomRecords(r, &at)}
		at = at.Add(time.Second)
		parts = append(parts, randomRecords(r, &at))
		x := newTape(t, dir)
		x.load()
		for i := 0; i < len(parts); {
			sent := kubelet(parts[i], x.resume())
			if r.IntN(3) > 0 { // it comes to its end
				if err := x.copy(iotest.OneByteReader(strings.NewReader(sent))); err != nil {
					t.Fatal(err)
				}
				x.next()
				i++
				continue
			}
			broken := io.MultiReader(strings.NewReader(sent[:r.IntN(len(sent)+1)]), iotest.ErrReader(io.ErrUnexpectedEOF))
			if err := x.copy(broken); !errors.Is(err, errBroke) {
				t.Fatalf("seed %d: a broken stream: %v", seed, err)
			}
			if r.IntN(2) == 0 { // the server begins anew
				x = newTape(t, dir)
				x.load()
				i = 0
			}
		}
		x.close("")
		want := output(parts[0]) + output(parts[1])
		if got := logOf(t, dir); got != want {
			t.Fatalf("seed %d: the log is\n%q, want\n%q", seed, got, want)
		}
	}
}

// TestTapeKnowsTheLastLineOfAnInterval: a line that came just before the index had to
// say again when it was written is not written twice, though the index rounds to
// milliseconds.
func TestTapeKnowsTheLastLineOfAnInterval(t *testing.T) {
	for _, part := range []time.Duration{0, 1, 400_000, 999_999} { // of a millisecond
		first := dawn.Truncate(time.Second).Add(7*time.Millisecond + part)
		records := []record{{at: first, text: "line 1"}, {at: first.Add(logfile.IndexEvery - 1), text: "line 2"}}
		later := append(records[:2:2], record{at: first.Add(logfile.IndexEvery + time.Millisecond), text: "line 3"})
		dir := t.TempDir()
		for _, sent := range [][]record{records, records, later, later} { // each time by a server that has just begun
			x := newTape(t, dir)
			x.load()
			if err := x.copy(strings.NewReader(kubelet(sent, x.resume()))); err != nil {
				t.Fatal(err)
			}
			x.close("")
			if got, want := logOf(t, dir), output(sent); got != want {
				t.Fatalf("%d ns past a millisecond: the log is\n%s, want\n%s", part, got, want)
			}
		}
	}
}

func TestTapeKeepsTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newTape(t, dir)
	x.load()
	x.resume()
	records := []record{{at: dawn, text: "one"}, {at: dawn.Add(50 * time.Millisecond), text: "two"}, {at: dawn.Add(3 * time.Second), text: "three"}}
	if err := x.copy(strings.NewReader(kubelet(records, time.Time{}))); err != nil {
		t.Fatal(err)
	}
	last, err := logfile.Last(logfile.Dir(dir).Index(taskOne))
	if err != nil || !last.At.Equal(dawn.Add(3*time.Second)) || last.Offset != int64(len("one\ntwo\n")) {
		t.Errorf("the index ends with %+v, %v", last, err)
	}
}

// TestTapeTellsWhatIsGone: what a node has thrown away cannot be made up for,
// but is not passed over.
func TestTapeTellsWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newTape(t, dir)
	x.load()
	x.resume()
	_ = x.copy(strings.NewReader(kubelet([]record{{at: dawn, text: "early"}}, time.Time{})))
	x.resume()
	_ = x.copy(strings.NewReader(kubelet([]record{{at: dawn.Add(time.Hour), text: "late"}}, time.Time{})))
	want := "early\n[muster] output may be missing here: the node does not have all of it any more\nlate\n"
	if got := logOf(t, dir); got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
	// After the remark the place to go on at is behind it.
	x = newTape(t, dir)
	x.load()
	x.resume()
	_ = x.copy(strings.NewReader(kubelet([]record{{at: dawn.Add(time.Hour), text: "late"}, {at: dawn.Add(time.Hour + 1), text: "later"}}, time.Time{})))
	if got := logOf(t, dir); got != want+"later\n" {
		t.Errorf("the log is %q, want %q and later", got, want)
	}
}

func TestTapeKeepsTheWordOfTheKubelet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newTape(t, dir)
	x.resume()
	_ = x.copy(strings.NewReader("unable to retrieve container logs for containerd://abc"))
	if got := logOf(t, dir); got != "" || x.word != "unable to retrieve container logs for containerd://abc" {
		t.Errorf("the log is %q, the word %q", got, x.word)
	}
}

func TestALogThatWasGivenUpStaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := newTape(t, dir)
	x.load()
	x.resume()
	_ = x.copy(strings.NewReader(kubelet([]record{{at: dawn, text: "some"}}, time.Time{})))
	x.close(givenUp + "no route to host")
	if x = newTape(t, dir); !x.load() {
		t.Errorf("it is taken up again: %q", logOf(t, dir))
	}
}

func TestOutputIsThatOfOurContainers(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init-0"}, {Name: "proxy", RestartPolicy: &always}, {Name: "init-1"}},
		Containers:     []corev1.Container{{Name: "istio"}, {Name: naming.Container}},
	}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init-0", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	s := stateOf(pod)
	if len(s.parts) != 3 || s.parts[0].name != "init-0" || s.parts[1].name != "init-1" || s.parts[2].name != naming.Container {
		t.Fatalf("the parts are %+v", s.parts)
	}
	if s.parts[0].started.IsZero() || s.parts[0].ended || !s.parts[1].started.IsZero() {
		t.Errorf("the parts are %+v", s.parts)
	}
}
