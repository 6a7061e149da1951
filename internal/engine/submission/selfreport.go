package submission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Bounds of what is kept of a workload's own words.
const (
	metricsMost   = 100
	metadataMost  = 200       // keys
	keyLongest    = 200       // characters of a name
	valueLongest  = 100_000   // bytes of one value of the metadata
	metadataBytes = 256 << 10 // of all of it: it is rewritten with every change of the workload
)

// ProgressEvery is how soon the tasks of an attempt, all together, may say again
// how far it has come: each time the workload is written anew, and all who watch
// it are told.
const ProgressEvery = 100 * time.Millisecond

// SelfReport is what is said of a workload beside its phase. Absent parts stay.
type SelfReport struct {
	Ref        draft.Ref
	Attempt    int // that says so; negative: a user does, of any
	Progress   *core.Progress
	Checkpoint *core.Checkpoint
	// Metadata is merged into what there is; null takes a key away.
	Metadata map[string]json.RawMessage
}

// Note keeps what the tasks of a workload say of it, or its user. Tasks are heard
// until their attempt is over: while they are being ended they say where their last
// checkpoint is.
func Note(t SelfReport) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		if err := t.check(); err != nil {
			return nil, err
		}
		d, err := tx.Find(t.Ref)
		if err != nil {
			return nil, err
		}
		if t.Attempt >= 0 && (t.Attempt != d.W.Attempt || d.W.Phase.End()) {
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("attempt %d of %s is over", t.Attempt, d.W.Name), Hint: "its tasks should end; what they say is not kept"}
		}
		if p := d.W.Progress; t.progressOnly() && p != nil && p.Attempt == t.Attempt {
			if since := tx.Now.Sub(p.At); since >= 0 && since < ProgressEvery {
				return nil, &draft.Error{Code: draft.CodeTooOften, Message: fmt.Sprintf("task %d has said how far attempt %d is %v ago", p.Task, p.Attempt, since), Hint: fmt.Sprintf("say so every %v at most, from one task; the last counts", ProgressEvery)}
			}
		}
		merged, err := mergeMetadata(d.W.Metadata, t.Metadata)
		if err != nil {
			return nil, err
		}
		if d, err = tx.Reopen(d); err != nil {
			return nil, err
		}
		quiet := !d.Touched || d.Quiet
		err = tx.Change(d, func() error {
			d.W.Metadata = merged
			if p := t.Progress; p != nil {
				c := *p
				c.Attempt, c.At = t.Attempt, tx.Now
				d.W.Progress = &c
				d.Attempt().Step = c.Step
			}
			if p := t.Checkpoint; p != nil {
				c := *p
				c.Attempt, c.At = t.Attempt, tx.Now
				d.W.Checkpoint = &c
				d.Attempt().SavedAt, d.Attempt().SavedStep = c.At, c.Step
			}
			return nil
		})
		d.Quiet = quiet
		return d.W, err
	}
}

// progressOnly reports whether nothing is said but how far an attempt has come.
func (t *SelfReport) progressOnly() bool {
	return t.Attempt >= 0 && t.Progress != nil && t.Checkpoint == nil && len(t.Metadata) == 0
}

func (t *SelfReport) check() error {
	bad := func(field, problem, hint string) error {
		return &draft.Error{Code: draft.CodeInvalid, Field: field, Message: problem, Hint: hint}
	}
	if p := t.Progress; p != nil {
		if len(p.Metrics) > metricsMost {
			return bad("metrics", fmt.Sprintf("has %d names, at most %d are kept", len(p.Metrics), metricsMost), "report the few that matter")
		}
		for k, v := range p.Metrics {
			if k == "" || utf8.RuneCountInString(k) > keyLongest || math.IsNaN(v) || math.IsInf(v, 0) {
				return bad("metrics", fmt.Sprintf("%.60q: a name has 1 to %d characters, a value is a finite number", k, keyLongest), "leave it out, or say it in message")
			}
		}
	}
	if c := t.Checkpoint; c != nil && strings.ContainsAny(c.Path, "\x00\n") {
		return bad("path", fmt.Sprintf("%.60q has a line end or a zero byte", c.Path), "name a file or directory")
	}
	for k, v := range t.Metadata {
		if k == "" || utf8.RuneCountInString(k) > keyLongest {
			return bad("metadata", fmt.Sprintf("key %.60q has %d characters; 1 to %d are allowed", k, utf8.RuneCountInString(k), keyLongest), "shorten it")
		}
		if len(v) > valueLongest {
			return bad("metadata", fmt.Sprintf("the value of %.60q has %d bytes as JSON; at most %d are kept", k, len(v), valueLongest), "keep it in a file, and its path here")
		}
	}
	return nil
}

// metadataOf is what a document's workload begins with.
func metadataOf(doc *spec.Document) (map[string]json.RawMessage, error) {
	if len(doc.Metadata) == 0 {
		return nil, nil
	}
	all := make(map[string]json.RawMessage, len(doc.Metadata))
	for k, v := range doc.Metadata {
		raw, err := spec.Parameters{"v": v}.MarshalJSON()
		if err != nil {
			return nil, &draft.Error{Code: draft.CodeInvalid, Field: "metadata", Message: fmt.Sprintf("the value of %.60q cannot be written as JSON", k), Hint: "write text, numbers, lists and maps"}
		}
		all[k] = raw[len(`{"v":`) : len(raw)-1]
	}
	t := SelfReport{Metadata: all}
	if err := t.check(); err != nil {
		return nil, err
	}
	return mergeMetadata(nil, all)
}

// mergeMetadata is what there is with what is new; a null takes a key away.
func mergeMetadata(was, news map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(news) == 0 {
		return was, nil
	}
	out := maps.Clone(was)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	for k, v := range news {
		if bytes.Equal(bytes.TrimSpace(v), []byte("null")) {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	size := 0
	for k, v := range out {
		size += len(k) + len(v)
	}
	if len(out) > metadataMost || size > metadataBytes {
		return nil, &draft.Error{
			Code: draft.CodeInvalid, Field: "metadata",
			Message: fmt.Sprintf("it would have %d keys and %d bytes; at most %d keys and %d bytes are kept with a workload", len(out), size, metadataMost, metadataBytes),
			Hint:    "take some away by setting them to null",
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}
