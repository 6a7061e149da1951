package spec

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MIG is a number of partitions by profile, as ParseMIG writes it:
// "1g.10gb=2,3g.40gb=1", sorted by profile; empty: none. It is a text so that
// what tasks need can be compared.
type MIG string

// maxPartitions is the largest number of partitions of one profile.
const maxPartitions = 1024

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
			return "", FieldError{Value: s, Problem: fmt.Sprintf("%q stands twice", shorten(profile)), Hint: "write each profile once, with the number of all: " + shorten(profile) + "=2"}
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
		e := FieldError{Value: profile, Problem: fmt.Sprintf("%q is not a profile of MIG", shorten(profile)), Hint: migForms}
		if plain := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(profile), "nvidia.com/"), "mig-"); plain != profile && isProfile(plain) {
			e.Hint = didYouMean(plain)
		}
		return 0, e
	}
	n, ok := integer(number)
	if !ok || n < 1 || n > maxPartitions {
		return 0, FieldError{Value: number, Problem: fmt.Sprintf("%q is not a number of %s partitions", shorten(number), profile), Hint: fmt.Sprintf("write a whole number from 1 to %d", maxPartitions)}
	}
	return n, nil
}

// isProfile reports whether s is written like 1g.10gb or 1g.10gb+me.
func isProfile(s string) bool {
	slices, rest := digits(s)
	rest, isG := strings.CutPrefix(rest, "g.")
	size, rest := digits(rest)
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
		width, _ := digits(profile)
		g, _ := strconv.ParseInt(width, 10, 64)
		total += g * int64(n)
	}
	return total
}

// String is m as ParseMIG reads it.
func (m MIG) String() string { return string(m) }

func (m *MIG) read(n *node) error {
	switch n.kind {
	case nodeText:
		v, err := ParseMIG(n.text)
		if err == nil {
			*m = v
		}
		return err
	case nodeMap:
	default:
		return mismatch(n, "a profile such as 1g.10gb, or a map of profile to number")
	}
	counts := make(map[string]int, len(n.keys))
	for i, profile := range n.keys {
		if _, twice := counts[profile]; twice {
			return FieldError{Value: profile, Problem: fmt.Sprintf("%q stands twice", shorten(profile)), Hint: "keep one of them"}
		}
		if !n.items[i].scalar() {
			return FieldError{Problem: n.items[i].found() + " as the number of " + shorten(profile), Hint: migForms}
		}
		number, err := partitions(profile, n.items[i].text)
		if err != nil {
			return err
		}
		counts[profile] = number
	}
	*m = migOf(counts)
	return nil
}

// write is one profile as a text, several partitions as a map.
func (m MIG) write() node {
	if _, err := ParseMIG(string(m)); err != nil { // made in Go; Validate refuses it
		return textNode(string(m))
	}
	if one, single := strings.CutSuffix(string(m), "=1"); single && !strings.Contains(one, "=") {
		return textNode(one)
	}
	n := node{kind: nodeMap}
	for profile, number := range m.All() {
		n.put(profile, numNode(strconv.Itoa(number)))
	}
	return n
}

// MarshalJSON writes one profile as a string, several partitions as a map.
func (m MIG) MarshalJSON() ([]byte, error) { return scalarJSON(m) }

// UnmarshalJSON reads a profile, or a map of profile to number.
func (m *MIG) UnmarshalJSON(data []byte) error { return readScalarJSON(data, m) }

// mig checks partitions that were not read from a document.
func (v *validator) mig(path string, m MIG) {
	plain, err := ParseMIG(string(m))
	switch e, ok := err.(FieldError); {
	case ok:
		v.fail(path, string(m), e.Problem, e.Hint)
	case plain != m:
		v.fail(path, string(m), "is not written as ParseMIG writes it", "write "+string(plain))
	}
}
