// Package audit chains the entries of the audit log, so that a change of what is
// written shows.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Head is the last entry of a chain: its number and hash. The zero Head is that of
// an empty one.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// Seal gives an entry its number, the hash of the one before and its own, and
// returns the new head.
func Seal(e *core.AuditEntry, after Head) Head {
	e.At = time.UnixMicro(e.At.UnixMicro()).UTC() // as it is read back
	e.Seq, e.Previous = after.Seq+1, after.Hash
	e.Hash = hash(*e)
	return Head{e.Seq, e.Hash}
}

// hash is over everything that an entry says but its hash.
func hash(e core.AuditEntry) string {
	e.Hash = ""
	text, err := json.Marshal(&e)
	if err != nil { // texts, numbers and a time of four digits can be written
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Broken is the first entry of a chain that is not as it was written.
type Broken struct {
	Seq     int64
	Problem string
}

// Follow checks that an entry is what was written after others; nil: it is. The
// head is that of the entries before it.
func Follow(e *core.AuditEntry, after Head) *Broken {
	switch {
	case e.Seq != after.Seq+1:
		return &Broken{after.Seq + 1, fmt.Sprintf("entry %d is missing: %d follows %d", after.Seq+1, e.Seq, after.Seq)}
	case hash(*e) != e.Hash:
		return &Broken{e.Seq, "its hash is not that of what it says: it was changed"}
	case e.Previous != after.Hash:
		return &Broken{e.Seq, "it does not follow the entry before: that was changed, or replaced"}
	}
	return nil
}

// Ends checks that a chain ends where it was written last; nil: it does.
func Ends(at, written Head) *Broken {
	switch {
	case at == written:
		return nil
	case at.Seq < written.Seq:
		return &Broken{at.Seq + 1, fmt.Sprintf("entry %d is missing: %d were written", at.Seq+1, written.Seq)}
	default:
		return &Broken{written.Seq, fmt.Sprintf("the chain ends at %d with %.12s, and was written to %d with %.12s", at.Seq, at.Hash, written.Seq, written.Hash)}
	}
}
