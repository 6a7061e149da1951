package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec"
)

// Moments writes instants as the flags want them: ages for people, RFC 3339
// for --absolute.
type Moments struct {
	Now      time.Time
	Absolute bool
	utc      bool
}

// Moments is how instants are written in one table: of one present, as the flags say.
func (s *Session) Moments(f TableFlags) Moments {
	return Moments{Now: s.Clock(), Absolute: f.absolute || f.Utc, utc: f.Utc}
}

// Ago is how long ago t was, or t itself.
func (m Moments) Ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if m.Absolute {
		return m.Instant(t)
	}
	return Age(m.Now.Sub(t))
}

// Instant is t itself, with its date.
func (m Moments) Instant(t time.Time) string {
	if m.utc {
		t = t.UTC()
	} else {
		t = t.Local()
	}
	return t.Format(time.RFC3339)
}

// ClockTime is a time of day for an instant that is near.
func (m Moments) ClockTime(t time.Time) string {
	switch {
	case m.Absolute:
		return m.Instant(t)
	case t.Sub(m.Now).Abs() < 20*time.Hour:
		return t.Local().Format("15:04")
	default:
		return t.Local().Format("2 Jan 15:04")
	}
}

// Age is a length of time in one or two units, for columns: 42s, 7m, 3h12m, 5d.
func Age(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 10*time.Hour && int(d.Minutes())%60 > 0:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}

// Length is a duration as precisely as a person wants it: 0.42s, 12.3s, 4m02s.
func Length(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	switch {
	case d < time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + "s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// At is an instant of the API; the zero time where there is none.
func At(t *api.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Time(*t)
}

// Between is the time from a to b, up to now where b is open; ok is false
// before a.
func Between(a, b *api.Time, now time.Time) (time.Duration, bool) {
	if a == nil {
		return 0, false
	}
	end := now
	if b != nil {
		end = At(b)
	}
	return end.Sub(At(a)), true
}

// LengthOr is the time from a to b, or to now, as text; none where it has not begun.
func LengthOr(a, b *api.Time, now time.Time, none string) string {
	d, ok := Between(a, b, now)
	if !ok {
		return none
	}
	return Length(d)
}

// ParseWhen reads an age (2d, 5m) or an instant (RFC 3339, or a day).
func ParseWhen(flag, text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	d, err := spec.ParseDuration(text)
	if err != nil {
		return time.Time{}, UsageError(fmt.Sprintf("--%s: %q is neither an age nor an instant", flag, text), "like 2d, 5m, 2026-11-21 or 2026-11-21T09:30:00Z")
	}
	return now.Add(-d.Std()), nil
}

// FromNow makes an instant of how long from now something is, and leaves the
// rest to who reads instants.
func FromNow(text string, now time.Time) string {
	d, err := spec.ParseDuration(text)
	if err != nil {
		return text
	}
	return now.Add(d.Std()).UTC().Format(time.RFC3339Nano)
}

// TimeOf is an instant of the API as the standard library has it.
func TimeOf(t api.Time) time.Time { return time.Time(t) }

// SinceWord follows what Ago gives: an age is so long ago, an instant is none.
func SinceWord(m Moments) string {
	if m.Absolute {
		return ""
	}
	return " ago"
}

// lengths are the flags that take a length of time, or an age.
var lengths = []string{
	"max-duration", "expected-duration", "patience", "again", "quantum", "min-runtime", "checkpoint", "timeout", "grace-period", "every", "since", "before", "until", "from", "to", "step", "duration",
	"preempt-min-runtime", "reclaim-min-runtime", "borrowing-time-limit", "sample-every", "past-window", "past-half-life", "node-grace", "move-rest", "not-before", "deadline",
}

// Unitless refuses a length of time that is only a number: in seconds it would be
// taken, and other tools mean minutes or hours.
func Unitless(flag, text string) error {
	if text == "" || strings.Trim(text, "0123456789") != "" || strings.Trim(text, "0") == "" {
		return nil
	}
	return UsageError(flag+" "+text+" does not say of what", "write "+text+"s, "+text+"m or "+text+"h: other tools mean minutes, or hours")
}

// unitless is Unitless of all flags that were given.
func unitless(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && slices.Contains(lengths, f.Name) {
			err = Unitless("--"+f.Name, f.Value.String())
		}
	})
	return err
}
