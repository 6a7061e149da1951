// Package naming makes the identifiers and names that are given to what has none.
package naming

import (
	"encoding/base32"
	"encoding/binary"
	"io"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// alphabet is Crockford's base 32 in lower case: it sorts as its numbers do,
// and no letter is taken for another.
var alphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID returns a function that makes workload ids from a source of
// randomness: 48 bits of milliseconds, then 80 random bits.
func NewID(random io.Reader) func(time.Time) core.WorkloadID {
	return func(now time.Time) core.WorkloadID {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
		read(random, b[6:])
		return core.WorkloadID(alphabet.EncodeToString(b[:]))
	}
}

// NewName returns a function that makes names: the prefix and six random
// characters, or without a prefix an adjective and an animal.
func NewName(random io.Reader) func(prefix string) string {
	return func(prefix string) string {
		var b [5]byte
		read(random, b[:])
		tail := alphabet.EncodeToString(b[:])
		if prefix != "" {
			return prefix + "-" + tail[:6]
		}
		return adjectives[int(b[0])%len(adjectives)] + "-" + animals[int(b[1])%len(animals)] + "-" + tail[4:8]
	}
}

// read fills b; a source of randomness that fails is a broken machine.
func read(random io.Reader, b []byte) {
	if _, err := io.ReadFull(random, b); err != nil {
		panic("no randomness: " + err.Error())
	}
}

var adjectives = []string{
	"able", "amber", "bold", "brave", "bright", "calm", "clever", "crisp", "eager", "fair", "fleet", "fond", "gentle", "glad", "golden", "grand",
	"happy", "honest", "keen", "kind", "light", "lively", "lucky", "merry", "mild", "neat", "noble", "patient", "quick", "quiet", "steady", "witty",
}

var animals = []string{
	"badger", "beaver", "bison", "crane", "deer", "dolphin", "eagle", "falcon", "finch", "fox", "gecko", "hare", "hawk", "heron", "ibex", "jay",
	"koala", "lark", "lemur", "lynx", "magpie", "marten", "newt", "otter", "owl", "panda", "puffin", "raven", "robin", "seal", "swift", "wren",
}
