package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Check refuses a question that has no answer.
func (q UseQuery) Check() error {
	if q.Now.IsZero() {
		return errors.New("charged time: Now is zero; it says until when what is still held counts, so pass the present time")
	}
	return nil
}

// Charge calls each with u for every device that one task held, and once for its
// partitions of devices, as t.Devices and t.Counted have them, with the part
// of the time from placed to released that q asks for: in whole microseconds
// and UTC. A zero released says that it holds them still, a zero placed that it
// never did. It reports whether each wants more.
func (q UseQuery) Charge(u core.Use, placed, released time.Time, devices []core.Share, counted string, each func(core.Use) bool) bool {
	if placed.IsZero() {
		return true
	}
	if released.IsZero() {
		released = q.Now
	}
	from, to := placed.UnixMicro(), released.UnixMicro()
	if !q.From.IsZero() {
		from = max(from, q.From.UnixMicro())
	}
	if !q.To.IsZero() {
		to = min(to, q.To.UnixMicro())
	}
	if from >= to {
		return true
	}
	u.From, u.To = time.UnixMicro(from).UTC(), time.UnixMicro(to).UTC()
	if milli := core.Slices(counted); milli > 0 {
		devices = append(slices.Clip(devices), core.Share{Device: counted, Milli: int(milli)})
	}
	for _, d := range devices {
		if d.Milli <= 0 {
			continue
		}
		u.Device, u.Milli = d.Device, d.Milli
		u.GPUSeconds = float64(to-from) * float64(d.Milli) / 1e9 // microseconds of thousandths
		if !each(u) {
			return false
		}
	}
	return true
}

// SpanOf is the time for which t had its place, until now where it has it still;
// false: it never had one, or for no time at all.
func SpanOf(p core.ProjectID, t *core.Task, now time.Time) (core.Span, bool) {
	s := core.Span{Project: p, Pool: t.Pool, Milli: t.Milli(), CPU: t.CPU, Memory: t.Memory, From: t.PlacedAt, To: t.ReleasedAt}
	if s.To.IsZero() {
		s.To = now
	}
	return s, !s.From.IsZero() && s.From.Before(s.To)
}

// CheckPromises refuses a list that names nobody, or somebody twice.
func CheckPromises(all []core.Promise) error {
	for i, p := range all {
		twice := slices.ContainsFunc(all[:i], func(x core.Promise) bool { return x.Workload == p.Workload })
		if p.Workload == "" || twice || p.Tasks < 0 {
			return fmt.Errorf("promise %d of the batch is to workload %q for %d tasks; each must be to another one, and for some", i, p.Workload, p.Tasks)
		}
	}
	return nil
}
