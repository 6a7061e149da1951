package codec

import (
	"strconv"
	"strings"
)

// Classify gives an unquoted YAML scalar its kind by the core schema of YAML
// 1.2, so that yes, on and 12:30 are text. Digits with a leading zero are text
// as well: some readers take them for octal, and zip codes are not numbers.
func Classify(s string) Kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return NodeNull
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return NodeBool
	}
	if Numeric(s) {
		return NodeNumber
	}
	return NodeText
}

// Numeric reports whether s is written like a number of YAML or JSON.
func Numeric(s string) bool {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'o') {
		base := map[byte]int{'x': 16, 'o': 8}[s[1]]
		_, err := strconv.ParseUint(s[2:], base, 64)
		return err == nil
	}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	switch s {
	case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN":
		return true
	}
	whole, rest := Digits(s)
	if len(whole) > 1 && whole[0] == '0' {
		return false
	}
	var frac string
	if strings.HasPrefix(rest, ".") {
		frac, rest = Digits(rest[1:])
	}
	if whole == "" && frac == "" {
		return false
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	exp, rest := Digits(rest)
	return exp != "" && rest == ""
}

// Digits splits the leading decimal digits off s.
func Digits(s string) (head, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// CanonicalNumber writes a number so that JSON, YAML 1.1 and YAML 1.2 all read
// it as the same number: plain digits, and exponents as in 1.0e+5. It fails on
// what has no finite value.
func CanonicalNumber(s string) (string, bool) {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'o') {
		n, err := strconv.ParseUint("0"+s[1:], 0, 64)
		return strconv.FormatUint(n, 10), err == nil
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil || !Numeric(s) {
		return "", false
	}
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		sign, s = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	whole, rest := Digits(s)
	if whole == "" {
		whole = "0"
	}
	if rest == "" {
		if whole == "0" {
			sign = ""
		}
		return sign + whole, true
	}
	frac := "0"
	if strings.HasPrefix(rest, ".") {
		var f string
		if f, rest = Digits(rest[1:]); f != "" {
			frac = f
		}
	}
	if rest != "" {
		rest = rest[1:]
		if rest[0] == '+' || rest[0] == '-' {
			rest = "e" + rest
		} else {
			rest = "e+" + rest
		}
	}
	return sign + whole + "." + frac + rest, true
}

// Integer reads a whole number; whatever else is written fails.
func Integer(s string) (int, bool) {
	c, ok := CanonicalNumber(s)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(c)
	return n, err == nil
}

// Scale returns digits × unit ÷ 10^frac, exactly. It fails when the result is
// no whole number (exact false) or too large (exact true).
func Scale(digits uint64, frac int, unit int64) (v int64, exact, ok bool) {
	for ; frac > 0 && digits != 0; frac-- {
		switch {
		case digits%10 == 0:
			digits /= 10
		case unit%10 == 0:
			unit /= 10
		case unit%2 == 0 && digits%5 == 0:
			unit, digits = unit/2, digits/5
		case unit%5 == 0 && digits%2 == 0:
			unit, digits = unit/5, digits/2
		default:
			return 0, false, false
		}
	}
	if digits != 0 && digits > uint64(MaxInt64/unit) {
		return 0, true, false
	}
	return int64(digits) * unit, true, true
}

// MaxInt64 is the largest whole number.
const MaxInt64 = 1<<63 - 1

// Decimal reads digits with an optional fraction from the head of s, such as
// "1.5" of "1.5Gi": 15 with one fractional digit. ok is false when there are no
// digits or more than fit.
func Decimal(s string) (value uint64, frac int, rest string, ok bool) {
	whole, rest := Digits(s)
	var f string
	if strings.HasPrefix(rest, ".") {
		f, rest = Digits(rest[1:])
		f = strings.TrimRight(f, "0")
		if whole == "" && f == "" {
			return 0, 0, s, false
		}
	} else if whole == "" {
		return 0, 0, s, false
	}
	all := strings.TrimLeft(whole+f, "0")
	if all == "" {
		return 0, 0, rest, true
	}
	value, err := strconv.ParseUint(all, 10, 64)
	return value, len(f), rest, err == nil
}
