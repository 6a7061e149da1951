// Package tiny is changed by the test of mutate. Of each line, outcomes.txt holds
// what can be wrong in it, and whether that is noticed.
package tiny

import (
	"errors"
	"time"
)

type amount int64

const most amount = 10 // a constant stays as it is

var table = [...]string{0: "none", 1: "one"}

// Clamp is tested at both of its ends.
func Clamp(n amount) amount {
	if n < 0 {
		return 0
	}
	if n > most {
		return most
	}
	return n
}

// Loose is tested far from its end, so nobody notices where that is.
func Loose(n int) bool { return n >= 100 }

// Both is tested with all that there is.
func Both(a, b bool) bool { return a && b }

// Sum leaves out what is negative, and ends at zero.
func Sum[T ~int | ~float64](list []T) T {
	var sum T
	for _, n := range list {
		if n == 0 {
			break
		}
		if n < 0 {
			continue
		}
		sum += n
	}
	return sum
}

// Check is tested with a name, not without.
func Check(name string) error {
	if name == "" {
		return errors.New("no name")
	}
	return nil
}

// Wait is called by no test.
func Wait() time.Duration { return 5 * time.Second }

// Until never ends when it counts the other way.
func Until(n int) int {
	i := 0
	for i != n {
		i++
	}
	return i
}

// Note writes down what is told.
type Note struct{ told []string }

func (n *Note) Tell(what string) { n.told = append(n.told, what) }

// Greet tells two things, of which a test looks at one.
func Greet(n *Note) {
	n.Tell("hello")
	n.Tell(table[1])
}
