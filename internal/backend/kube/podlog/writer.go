package podlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend/logfile"
)

// longestStamp is more than a time takes that a kubelet puts before a line.
const longestStamp = 48

// indexSlack is how much later than the last record of the index a line may be that has
// no record: the index rounds a time down to a millisecond, and says no millisecond twice.
const indexSlack = logfile.IndexEvery + 2*time.Millisecond

// tape writes the output of one task to its log, and knows how much of what a
// kubelet sends again is there already.
//
// A kubelet sends again from a second on. The place to go on at is the mark: the
// first line that is as late as any before it. Lines from then on repeat what
// the log has behind the mark, byte by byte. After a restart the mark is the
// last record of the log's index.
type tape struct {
	f    *feed
	w    *logfile.Writer // nil: not open
	lost int64           // bytes that came while it could not be opened

	mark  time.Time
	past  int64         // bytes of output from the mark on
	slack time.Duration // how much later than the mark their lines may be
	last  time.Time     // the latest line so far

	// Of the stream under way:
	found bool   // the mark has come by
	skip  int64  // bytes that are to be left out
	begin bool   // what comes next begins a line
	drop  bool   // the line is left out
	head  []byte // of a line: its time, which is not whole yet
	got   bool   // it brought output
	word  string // what the kubelet said instead of output

	buf []byte    // output that is not written yet
	at  time.Time // when it was written, where the index is to say so
}

// load finds out where the log ends, which has output of this pod. It reports
// whether the rest of it was given up before.
func (t *tape) load() (over bool) {
	mark, err := logfile.Last(t.f.l.dir.Index(t.f.id))
	st, statErr := os.Stat(t.f.l.dir.Log(t.f.id))
	if err != nil || statErr != nil || mark.At.IsZero() {
		return false
	}
	t.mark, t.last, t.past, t.slack = mark.At, mark.At, max(st.Size()-mark.Offset, 0), indexSlack
	return strings.HasPrefix(t.lastLine(st.Size()), "[muster] "+givenUp)
}

func (t *tape) lastLine(size int64) string {
	f, err := os.Open(t.f.l.dir.Log(t.f.id))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, min(size, 4096))
	n, _ := f.ReadAt(b, size-int64(len(b)))
	line := strings.TrimSuffix(string(b[:n]), "\n")
	return line[strings.LastIndexByte(line, '\n')+1:]
}

// resume begins a stream. since is the time from which it is wanted; zero: all.
func (t *tape) resume() (since time.Time) {
	t.found, t.skip, t.begin, t.drop = t.mark.IsZero(), t.past, true, false
	t.head, t.word = t.head[:0], ""
	return t.mark.Truncate(time.Second)
}

// next says that the output of a container is whole.
func (t *tape) next() {
	if t.found { // else the mark is in a container that comes later
		t.mark, t.last, t.past, t.slack = time.Time{}, time.Time{}, 0, 0
	}
}

// copy takes over a stream to its end. errBroke: that was not the end.
func (t *tape) copy(r io.Reader) error {
	defer t.rest()
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			t.take(buf[:n])
			t.flush()
			t.f.wake()
		}
		switch {
		case err == io.EOF: //nolint:errorlint // wrapped, it is not the end
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", errBroke, err)
		case n == len(buf) && n < 64<<10:
			buf = make([]byte, 2*n)
		}
	}
}

// take takes apart what a kubelet sends.
func (t *tape) take(b []byte) {
	for len(b) > 0 {
		if t.begin {
			b = t.stamp(b)
			continue
		}
		end := bytes.IndexByte(b, '\n') + 1
		if t.begin = end > 0; !t.begin {
			end = len(b)
		}
		t.put(b[:end])
		b = b[end:]
	}
}

// stamp takes the time of a line, and returns what follows. A line without one
// is the end of a line that began before the stream, or the kubelet's own word.
func (t *tape) stamp(b []byte) []byte {
	end := bytes.IndexAny(b, " \n")
	if end < 0 && len(t.head)+len(b) < longestStamp {
		t.head = append(t.head, b...)
		return nil
	}
	if end < 0 {
		end = len(b)
	}
	t.head = append(t.head, b[:end]...)
	at, err := time.Parse(time.RFC3339Nano, string(t.head[:min(len(t.head), longestStamp)]))
	t.begin = false
	if err != nil || end == len(b) || b[end] == '\n' {
		if t.drop = true; t.mark.IsZero() {
			t.word = strings.TrimSpace(string(append(t.head, b[end:min(len(b), end+200)]...)))
		}
		t.head = t.head[:0]
		return b[end:]
	}
	t.head = t.head[:0]
	t.line(at)
	return b[end+1:]
}

// line begins a line that was written at a time.
func (t *tape) line(at time.Time) {
	if t.drop = !t.found && at.Before(t.mark); t.drop {
		return
	}
	if !t.found && t.skip > 0 && at.After(t.mark.Add(t.slack)) {
		t.open()
		t.say("output may be missing here: the node does not have all of it any more")
	}
	t.found = true
	if at.After(t.mark.Add(t.slack)) {
		t.skip = 0 // whatever is behind the mark, this is not
	}
	if t.skip == 0 && at.After(t.last) {
		if at.UnixMilli() > t.last.UnixMilli() && t.open() && (t.w.Due(at) || t.w.Missing > 0) {
			t.flush()
			t.at = at
		}
		t.mark, t.past, t.slack = at, 0, 0
	}
	if at.After(t.last) {
		t.last = at
	}
}

// put takes a part of a line.
func (t *tape) put(b []byte) {
	if t.drop {
		return
	}
	t.got = true
	n := min(t.skip, int64(len(b)))
	t.skip -= n
	t.past += int64(len(b)) - n
	t.buf = append(t.buf, b[n:]...)
}

// flush writes what has come.
func (t *tape) flush() {
	if len(t.buf) == 0 {
		return
	}
	if t.open() {
		t.w.Write(t.buf, t.at)
	} else {
		t.lost += int64(len(t.buf))
	}
	t.at, t.buf = time.Time{}, t.buf[:0]
}

// open opens the log, where it is not. A task that is silent needs no file.
func (t *tape) open() bool {
	if t.w != nil {
		return true
	}
	w, err := logfile.Append(t.f.l.dir.Log(t.f.id), t.f.l.dir.Index(t.f.id), t.f.l.space)
	if err != nil {
		return false
	}
	w.Missing += t.lost
	t.w, t.lost = w, 0
	return true
}

func (t *tape) say(remark string) {
	t.flush()
	if t.open() {
		t.w.Say(remark)
	}
}

// rest puts the log away until there is more.
func (t *tape) rest() {
	t.flush()
	if t.w != nil || t.lost > 0 && t.open() {
		t.w.Close("")
		t.w = nil
	}
	if cap(t.buf) > 64<<10 {
		t.buf = nil
	}
}

// close ends the log, with a remark if there is one.
func (t *tape) close(remark string) {
	if remark != "" {
		t.say(remark)
	}
	t.rest()
}
