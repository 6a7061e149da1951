package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Quantity is an amount in thousandths of its unit (cores, bytes).
type Quantity int64

// suffix is a letter of a quantity and how many thousandths it stands for.
type suffix struct {
	word  string
	milli int64
}

// suffixes in the order in which String prefers them among texts of one length.
var suffixes = []suffix{
	{"", 1000}, {"m", 1},
	{"Ki", 1000 << 10}, {"Mi", 1000 << 20}, {"Gi", 1000 << 30}, {"Ti", 1000 << 40}, {"Pi", 1000 << 50},
	{"K", 1e6}, {"M", 1e9}, {"G", 1e12}, {"T", 1e15}, {"P", 1e18},
}

const quantityForms = `write a number, or one with a suffix: 4, 500m, 1.5G, 16Gi (m, K, M, G, T, P and Ki, Mi, Gi, Ti, Pi)`

// ParseQuantity reads 4, 500m, 1.5G or 16Gi. It fails on anything else, on
// what is negative, finer than a thousandth, or larger than 9.2P.
func ParseQuantity(s string) (Quantity, error) {
	problem := func(what string) (Quantity, error) {
		return 0, codec.FieldError{Value: s, Problem: fmt.Sprintf("%q %s", codec.Shorten(s), what), Hint: quantityForms}
	}
	if strings.HasPrefix(s, "-") {
		return problem("is negative")
	}
	value, frac, rest, ok := codec.Decimal(s)
	if !ok {
		return problem("is not a quantity")
	}
	if e, after, has := exponent(rest); has {
		rest = after
		for ; e > 0 && frac > 0; e-- {
			frac--
		}
		for ; e > 0 && value != 0; e-- {
			if value > (1<<64-1)/10 {
				return problem("is too large")
			}
			value *= 10
		}
		frac -= min(e, 0)
	}
	if rest == "k" {
		rest = "K"
	}
	for _, x := range suffixes {
		if x.word != rest {
			continue
		}
		milli, exact, ok := codec.Scale(value, frac, x.milli)
		switch {
		case ok:
			return Quantity(milli), nil
		case exact:
			return problem("is too large")
		default:
			return problem("is finer than a thousandth")
		}
	}
	if near := strings.TrimRight(rest, "Bb"); near != rest && isSuffix(near) { // 16GB
		return 0, codec.FieldError{Value: s, Problem: fmt.Sprintf("%q is not a quantity", codec.Shorten(s)), Hint: codec.DidYouMean(strings.TrimRight(s, "Bb"))}
	}
	return problem("is not a quantity")
}

func isSuffix(word string) bool {
	return slices.ContainsFunc(suffixes, func(x suffix) bool { return x.word == word })
}

// exponent reads e3 or E-2 from the head of s. A bare E is no exponent.
func exponent(s string) (e int, rest string, ok bool) {
	if s == "" || (s[0] != 'e' && s[0] != 'E') {
		return 0, s, false
	}
	sign, body := 1, s[1:]
	if body != "" && (body[0] == '+' || body[0] == '-') {
		if body[0] == '-' {
			sign = -1
		}
		body = body[1:]
	}
	d, rest := codec.Digits(body)
	if d == "" || len(d) > 2 {
		return 0, s, false
	}
	n, err := strconv.Atoi(d)
	return sign * n, rest, err == nil
}

// Milli is q in thousandths of its unit: millicores of CPU.
func (q Quantity) Milli() int64 { return int64(q) }

// Units is q in whole units, bytes of memory, rounded up.
func (q Quantity) Units() int64 {
	n := int64(q) / 1000
	if q%1000 > 0 {
		n++
	}
	return n
}

// String is the shortest text that ParseQuantity reads as exactly q.
func (q Quantity) String() string {
	if q < 0 { // never parsed; a difference of two
		if q == -codec.MaxInt64-1 {
			return strconv.FormatInt(int64(q), 10) + "m"
		}
		return "-" + (-q).String()
	}
	best := ""
	for _, x := range suffixes {
		whole, rem := int64(q)/x.milli, int64(q)%x.milli
		text := strconv.FormatInt(whole, 10)
		if rem != 0 { // three decimal places are exact whenever they suffice
			if x.milli < 1000 || rem%(x.milli/1000) != 0 {
				continue
			}
			text += "." + strings.TrimRight(fmt.Sprintf("%03d", rem/(x.milli/1000)), "0")
		}
		if text += x.word; best == "" || len(text) < len(best) {
			best = text
		}
	}
	return best
}

// ReadNode reads what a document says. It fails with a FieldError.
func (q *Quantity) ReadNode(n *codec.Node) error {
	if n.Kind != codec.NodeNumber && n.Kind != codec.NodeText {
		return codec.Mismatch(n, "a quantity such as 4, 500m or 16Gi")
	}
	v, err := ParseQuantity(strings.TrimPrefix(n.Text, "+"))
	if err == nil {
		*q = v
	}
	return err
}

// WriteNode is the value as a document has it.
func (q Quantity) WriteNode() codec.Node { return codec.BareNode(q.String()) }

// MarshalJSON writes q as a string: "4", "16Gi".
func (q Quantity) MarshalJSON() ([]byte, error) { return codec.ScalarJSON(q) }

// UnmarshalJSON reads a number or a string.
func (q *Quantity) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, q) }

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
		return 0, codec.FieldError{Value: s, Problem: fmt.Sprintf("%q %s", codec.Shorten(s), what), Hint: durationForms}
	}
	if strings.HasPrefix(s, "-") {
		return problem("is negative")
	}
	if d, rest := codec.Digits(s); d != "" && rest == "" {
		s += "s"
	}
	total, last := time.Duration(0), -1
	for rest := s; rest != "" || last < 0; {
		value, frac, after, ok := codec.Decimal(rest)
		if !ok {
			return problem("is not a duration")
		}
		word := after[:len(after)-len(strings.TrimLeft(after, "dhmsun"))]
		i := unitIndex(word)
		if i < 0 || i <= last { // 5m3h is more likely an error than a wish
			return problem("is not a duration")
		}
		part, exact, ok := codec.Scale(value, frac, int64(units[i].size))
		if !ok && !exact {
			return problem("is finer than a nanosecond")
		}
		if !ok || total > codec.MaxInt64-time.Duration(part) {
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
		if d == -codec.MaxInt64-1 {
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

// ReadNode reads what a document says. It fails with a FieldError.
func (d *Duration) ReadNode(n *codec.Node) error {
	if n.Kind != codec.NodeNumber && n.Kind != codec.NodeText {
		return codec.Mismatch(n, "a duration such as 90s, 15m or 7d")
	}
	v, err := ParseDuration(strings.TrimPrefix(n.Text, "+"))
	if err == nil {
		*d = v
	}
	return err
}

// WriteNode is the value as a document has it.
func (d Duration) WriteNode() codec.Node { return codec.BareNode(d.String()) }

// MarshalJSON writes d as a string: "1h30m".
func (d Duration) MarshalJSON() ([]byte, error) { return codec.ScalarJSON(d) }

// UnmarshalJSON reads a string, or a number of seconds.
func (d *Duration) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, d) }
