package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Share is a part of one GPU in thousandths, 1 to 999.
type Share int

const shareForms = "write a part between 0 and 1, such as 0.5, in steps of 0.001"

// ParseShare reads a part of one GPU, such as 0.5. It fails on anything else,
// on what is not between 0 and 1, and on what is finer than a thousandth.
func ParseShare(s string) (Share, error) {
	e := FieldError{Value: s, Problem: fmt.Sprintf("%q is not a part of a GPU", shorten(s)), Hint: shareForms}
	if !numeric(s) {
		return 0, e
	}
	q, err := ParseQuantity(strings.TrimPrefix(s, "+"))
	switch {
	case err != nil: // .inf, or too fine
		if f, ferr := strconv.ParseFloat(s, 64); ferr == nil && f > 0 && f < 1 {
			e.Problem = fmt.Sprintf("%q is finer than a thousandth of a GPU", shorten(s))
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
func (s Share) String() string { return s.write().text }

func (s *Share) read(n *node) error {
	if n.kind != nodeNumber && n.kind != nodeText {
		return mismatch(n, "a part of a GPU between 0 and 1, such as 0.5")
	}
	v, err := ParseShare(n.text)
	if err == nil {
		*s = v
	}
	return err
}

func (s Share) write() node {
	text, milli := "", int64(s)
	if milli < 0 { // never parsed
		text, milli = "-", -milli
	}
	text += strconv.FormatInt(milli/1000, 10) + fmt.Sprintf(".%03d", milli%1000)
	return numNode(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}

// MarshalJSON writes s as a number.
func (s Share) MarshalJSON() ([]byte, error) { return scalarJSON(s) }

// UnmarshalJSON reads a number.
func (s *Share) UnmarshalJSON(data []byte) error { return readScalarJSON(data, s) }

// ShareLimit is up to which part of one GPU something may go, in thousandths:
// 1 to 1000, which is all of it.
type ShareLimit int

// ParseShareLimit reads a part of one GPU or 1, all of it. It fails on anything
// else, and on what is finer than a thousandth.
func ParseShareLimit(s string) (ShareLimit, error) {
	if numeric(s) {
		if q, err := ParseQuantity(strings.TrimPrefix(s, "+")); err == nil && q == 1000 {
			return 1000, nil
		}
	}
	v, err := ParseShare(s)
	if err == nil {
		return ShareLimit(v), nil
	}
	var e FieldError
	if errors.As(err, &e) {
		e.Hint = "write a part from share to 1, such as 0.8, in steps of 0.001; 1 is all of the GPU"
	}
	return 0, e
}

// String writes s as a decimal, such as 0.8 or 1.
func (s ShareLimit) String() string { return Share(s).String() }

func (s *ShareLimit) read(n *node) error {
	if n.kind != nodeNumber && n.kind != nodeText {
		return mismatch(n, "a part of a GPU up to 1, such as 0.8")
	}
	v, err := ParseShareLimit(n.text)
	if err == nil {
		*s = v
	}
	return err
}

func (s ShareLimit) write() node { return Share(s).write() }

// MarshalJSON writes s as a number.
func (s ShareLimit) MarshalJSON() ([]byte, error) { return scalarJSON(s) }

// UnmarshalJSON reads a number.
func (s *ShareLimit) UnmarshalJSON(data []byte) error { return readScalarJSON(data, s) }
