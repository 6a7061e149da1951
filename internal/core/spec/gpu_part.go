package spec

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// MIG is a number of partitions by profile, as ParseMIG writes it:
// "1g.10gb=2,3g.40gb=1", sorted by profile; empty: none. It is a text so that
// what tasks need can be compared.
type MIG string

// MaxPartitions is the largest number of partitions of one profile.
const MaxPartitions = 1024

const migForms = "write a profile such as 1g.10gb, or a map such as {1g.10gb: 2}"

// ParseMIG reads a profile, such as 1g.10gb, or several with their numbers:
// 1g.10gb=2,3g.40gb=1. It fails on anything else.
func ParseMIG(s string) (MIG, error) {
	counts := map[string]int{}
	for part := range strings.SplitSeq(s, ",") {
		profile, number, counted := strings.Cut(part, "=")
		if !counted {
			number = "1"
		}
		if _, twice := counts[profile]; twice {
			return "", codec.FieldError{Value: s, Problem: fmt.Sprintf("%q stands twice", codec.Shorten(profile)), Hint: "write each profile once, with the number of all: " + codec.Shorten(profile) + "=2"}
		}
		n, err := partitions(profile, number)
		if err != nil {
			return "", err
		}
		counts[profile] = n
	}
	return migOf(counts), nil
}

// migOf writes counts, all of which are right, in the order of profiles.
func migOf(counts map[string]int) MIG {
	var b strings.Builder
	for _, profile := range slices.Sorted(maps.Keys(counts)) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(profile + "=" + strconv.Itoa(counts[profile]))
	}
	return MIG(b.String())
}

// partitions reads the number of one profile.
func partitions(profile, number string) (int, error) {
	if !isProfile(profile) {
		e := codec.FieldError{Value: profile, Problem: fmt.Sprintf("%q is not a profile of MIG", codec.Shorten(profile)), Hint: migForms}
		if plain := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(profile), "nvidia.com/"), "mig-"); plain != profile && isProfile(plain) {
			e.Hint = codec.DidYouMean(plain)
		}
		return 0, e
	}
	n, ok := codec.Integer(number)
	if !ok || n < 1 || n > MaxPartitions {
		return 0, codec.FieldError{Value: number, Problem: fmt.Sprintf("%q is not a number of %s partitions", codec.Shorten(number), profile), Hint: fmt.Sprintf("write a whole number from 1 to %d", MaxPartitions)}
	}
	return n, nil
}

// isProfile reports whether s is written like 1g.10gb or 1g.10gb+me.
func isProfile(s string) bool {
	slices, rest := codec.Digits(s)
	rest, isG := strings.CutPrefix(rest, "g.")
	size, rest := codec.Digits(rest)
	rest, isGB := strings.CutPrefix(rest, "gb")
	if !isG || !isGB || slices == "" || slices[0] == '0' || size == "" || size[0] == '0' || len(s) > 63 {
		return false
	}
	for rest != "" { // attributes: +me, +gfx, .me, +me.all
		if strings.IndexByte("+-.", rest[0]) < 0 {
			return false
		}
		rest = rest[1:]
		after := strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789")
		if after == rest {
			return false
		}
		rest = after
	}
	return true
}

// All iterates over the profiles and their numbers, sorted by profile.
func (m MIG) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if m == "" {
			return
		}
		for part := range strings.SplitSeq(string(m), ",") {
			profile, number, _ := strings.Cut(part, "=")
			n, _ := strconv.Atoi(number)
			if !yield(profile, n) {
				return
			}
		}
	}
}

// Partitions is how many there are of all profiles.
func (m MIG) Partitions() int {
	total := 0
	for _, n := range m.All() {
		total += n
	}
	return total
}

// slices is how many slices all partitions have together: two of 3g.40gb six.
func (m MIG) slices() int64 {
	total := int64(0)
	for profile, n := range m.All() {
		width, _ := codec.Digits(profile)
		g, _ := strconv.ParseInt(width, 10, 64)
		total += g * int64(n)
	}
	return total
}

// String is m as ParseMIG reads it.
func (m MIG) String() string { return string(m) }

// ReadNode reads what a document says. It fails with a FieldError.
func (m *MIG) ReadNode(n *codec.Node) error {
	switch n.Kind {
	case codec.NodeText:
		v, err := ParseMIG(n.Text)
		if err == nil {
			*m = v
		}
		return err
	case codec.NodeMap:
	default:
		return codec.Mismatch(n, "a profile such as 1g.10gb, or a map of profile to number")
	}
	counts := make(map[string]int, len(n.Keys))
	for i, profile := range n.Keys {
		if _, twice := counts[profile]; twice {
			return codec.FieldError{Value: profile, Problem: fmt.Sprintf("%q stands twice", codec.Shorten(profile)), Hint: "keep one of them"}
		}
		if !n.Items[i].Scalar() {
			return codec.FieldError{Problem: n.Items[i].Found() + " as the number of " + codec.Shorten(profile), Hint: migForms}
		}
		number, err := partitions(profile, n.Items[i].Text)
		if err != nil {
			return err
		}
		counts[profile] = number
	}
	*m = migOf(counts)
	return nil
}

// WriteNode is one profile as a text, several partitions as a map.
func (m MIG) WriteNode() codec.Node {
	if _, err := ParseMIG(string(m)); err != nil { // made in Go; Validate refuses it
		return codec.TextNode(string(m))
	}
	if one, single := strings.CutSuffix(string(m), "=1"); single && !strings.Contains(one, "=") {
		return codec.TextNode(one)
	}
	n := codec.Node{Kind: codec.NodeMap}
	for profile, number := range m.All() {
		n.Put(profile, codec.NumberNode(strconv.Itoa(number)))
	}
	return n
}

// MarshalJSON writes one profile as a string, several partitions as a map.
func (m MIG) MarshalJSON() ([]byte, error) { return codec.ScalarJSON(m) }

// UnmarshalJSON reads a profile, or a map of profile to number.
func (m *MIG) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, m) }

// Share is a part of one GPU in thousandths, 1 to 999.
type Share int

const shareForms = "write a part between 0 and 1, such as 0.5, in steps of 0.001"

// ParseShare reads a part of one GPU, such as 0.5. It fails on anything else,
// on what is not between 0 and 1, and on what is finer than a thousandth.
func ParseShare(s string) (Share, error) {
	e := codec.FieldError{Value: s, Problem: fmt.Sprintf("%q is not a part of a GPU", codec.Shorten(s)), Hint: shareForms}
	if !codec.Numeric(s) {
		return 0, e
	}
	q, err := ParseQuantity(strings.TrimPrefix(s, "+"))
	switch {
	case err != nil: // .inf, or too fine
		if f, ferr := strconv.ParseFloat(s, 64); ferr == nil && f > 0 && f < 1 {
			e.Problem = fmt.Sprintf("%q is finer than a thousandth of a GPU", codec.Shorten(s))
		}
		return 0, e
	case q >= 1000 && q%1000 == 0:
		e.Hint = fmt.Sprintf("whole GPUs are written as gpu: %d, or as count: %d", q/1000, q/1000)
		return 0, e
	case q > 1000:
		e.Hint = shareForms + "; a part of each of several GPUs is written as {count: 2, share: 0.75}"
		return 0, e
	case q <= 0:
		return 0, e
	}
	return Share(q), nil
}

// String writes s as a decimal, such as 0.5.
func (s Share) String() string { return s.WriteNode().Text }

// ReadNode reads what a document says. It fails with a FieldError.
func (s *Share) ReadNode(n *codec.Node) error {
	if n.Kind != codec.NodeNumber && n.Kind != codec.NodeText {
		return codec.Mismatch(n, "a part of a GPU between 0 and 1, such as 0.5")
	}
	v, err := ParseShare(n.Text)
	if err == nil {
		*s = v
	}
	return err
}

// WriteNode is the value as a document has it.
func (s Share) WriteNode() codec.Node {
	text, milli := "", int64(s)
	if milli < 0 { // never parsed
		text, milli = "-", -milli
	}
	text += strconv.FormatInt(milli/1000, 10) + fmt.Sprintf(".%03d", milli%1000)
	return codec.NumberNode(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}

// MarshalJSON writes s as a number.
func (s Share) MarshalJSON() ([]byte, error) { return codec.ScalarJSON(s) }

// UnmarshalJSON reads a number.
func (s *Share) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, s) }

// ShareLimit is up to which part of one GPU something may go, in thousandths:
// 1 to 1000, which is all of it.
type ShareLimit int

// ParseShareLimit reads a part of one GPU or 1, all of it. It fails on anything
// else, and on what is finer than a thousandth.
func ParseShareLimit(s string) (ShareLimit, error) {
	if codec.Numeric(s) {
		if q, err := ParseQuantity(strings.TrimPrefix(s, "+")); err == nil && q == 1000 {
			return 1000, nil
		}
	}
	v, err := ParseShare(s)
	if err == nil {
		return ShareLimit(v), nil
	}
	var e codec.FieldError
	if errors.As(err, &e) {
		e.Hint = "write a part from share to 1, such as 0.8, in steps of 0.001; 1 is all of the GPU"
	}
	return 0, e
}

// String writes s as a decimal, such as 0.8 or 1.
func (s ShareLimit) String() string { return Share(s).String() }

// ReadNode reads what a document says. It fails with a FieldError.
func (s *ShareLimit) ReadNode(n *codec.Node) error {
	if n.Kind != codec.NodeNumber && n.Kind != codec.NodeText {
		return codec.Mismatch(n, "a part of a GPU up to 1, such as 0.8")
	}
	v, err := ParseShareLimit(n.Text)
	if err == nil {
		*s = v
	}
	return err
}

// WriteNode is the value as a document has it.
func (s ShareLimit) WriteNode() codec.Node { return Share(s).WriteNode() }

// MarshalJSON writes s as a number.
func (s ShareLimit) MarshalJSON() ([]byte, error) { return codec.ScalarJSON(s) }

// UnmarshalJSON reads a number.
func (s *ShareLimit) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, s) }
