package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time, written like 90s, 15m, 12h or 7d.
type Duration time.Duration

var units = []struct {
	word string
	size time.Duration
}{
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
}

const durationForms = `write it like 90s, 15m, 1h30m or 7d; a bare number is seconds`

// ParseDuration reads 90s, 15m, 1h30m, 1.5h, 7d, or a bare number of seconds.
// It fails on anything else, on what is negative or longer than 292 years.
func ParseDuration(s string) (Duration, error) {
	problem := func(what string) (Duration, error) {
		return 0, FieldError{Value: s, Problem: fmt.Sprintf("%q %s", shorten(s), what), Hint: durationForms}
	}
	if strings.HasPrefix(s, "-") {
		return problem("is negative")
	}
	if d, rest := digits(s); d != "" && rest == "" {
		s += "s"
	}
	total, last := time.Duration(0), -1
	for rest := s; rest != "" || last < 0; {
		value, frac, after, ok := decimal(rest)
		if !ok {
			return problem("is not a duration")
		}
		word := after[:len(after)-len(strings.TrimLeft(after, "dhmsun"))]
		i := unitIndex(word)
		if i < 0 || i <= last { // 5m3h is more likely an error than a wish
			return problem("is not a duration")
		}
		part, exact, ok := scale(value, frac, int64(units[i].size))
		if !ok && !exact {
			return problem("is finer than a nanosecond")
		}
		if !ok || total > maxInt64-time.Duration(part) {
			return problem("is too long")
		}
		total, last, rest = total+time.Duration(part), i, after[len(word):]
	}
	return Duration(total), nil
}

func unitIndex(word string) int {
	for i, u := range units {
		if u.word == word {
			return i
		}
	}
	return -1
}

// Std is d as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d in whole units, largest first: 1d12h, 1m30s, 0s.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	if d < 0 {
		if d == -maxInt64-1 {
			return time.Duration(d).String()
		}
		return "-" + (-d).String()
	}
	var b strings.Builder
	left := time.Duration(d)
	for _, u := range units {
		if n := left / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.word)
			left %= u.size
		}
	}
	return b.String()
}

func (d *Duration) read(n *node) error {
	if n.kind != nodeNumber && n.kind != nodeText {
		return mismatch(n, "a duration such as 90s, 15m or 7d")
	}
	v, err := ParseDuration(strings.TrimPrefix(n.text, "+"))
	if err == nil {
		*d = v
	}
	return err
}

func (d Duration) write() node { return bareNode(d.String()) }

// MarshalJSON writes d as a string: "1h30m".
func (d Duration) MarshalJSON() ([]byte, error) { return scalarJSON(d) }

// UnmarshalJSON reads a string, or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error { return readScalarJSON(data, d) }
