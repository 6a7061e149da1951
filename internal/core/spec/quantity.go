package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		return 0, FieldError{Value: s, Problem: fmt.Sprintf("%q %s", shorten(s), what), Hint: quantityForms}
	}
	if strings.HasPrefix(s, "-") {
		return problem("is negative")
	}
	value, frac, rest, ok := decimal(s)
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
		milli, exact, ok := scale(value, frac, x.milli)
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
		return 0, FieldError{Value: s, Problem: fmt.Sprintf("%q is not a quantity", shorten(s)), Hint: didYouMean(strings.TrimRight(s, "Bb"))}
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
	d, rest := digits(body)
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
		if q == -maxInt64-1 {
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

func (q *Quantity) read(n *node) error {
	if n.kind != nodeNumber && n.kind != nodeText {
		return mismatch(n, "a quantity such as 4, 500m or 16Gi")
	}
	v, err := ParseQuantity(strings.TrimPrefix(n.text, "+"))
	if err == nil {
		*q = v
	}
	return err
}

func (q Quantity) write() node { return bareNode(q.String()) }

// MarshalJSON writes q as a string: "4", "16Gi".
func (q Quantity) MarshalJSON() ([]byte, error) { return scalarJSON(q) }

// UnmarshalJSON reads a number or a string.
func (q *Quantity) UnmarshalJSON(data []byte) error { return readScalarJSON(data, q) }
