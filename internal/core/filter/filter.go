// Package filter is the one language in which people say which workloads they
// mean, in the pages, on the command line and over the API: words that are
// looked for, and field:value with several values separated by commas; a "-"
// before it means all others. Numbers and ages compare: gpus>=8, age<2d.
package filter

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Fields returns the fields, beside label.KEY.
func Fields() []string {
	return []string{"status", "project", "user", "kind", "name", "node", "gpu", "gpus", "priority", "age", "ended", "reason", "label", "id", "try", "is"}
}

// Term is one condition of a filter.
type Term struct {
	Field  string // empty: text
	Op     string // : < <= > >=
	Values []string
	Not    bool
}

var (
	pieces   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[^\s"]+|"[^"]*"?)+`) })
	termForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(-?)([A-Za-z][A-Za-z0-9.\-_/]*)(:|<=|>=|<|>)(.*)$`)
	})
)

// Parse reads a filter. It fails only on a value that its field cannot have;
// what is no field is text, as names may have any form.
func Parse(text string) ([]Term, error) {
	var all []Term
	for _, piece := range pieces().FindAllString(text, -1) {
		m := termForm().FindStringSubmatch(piece)
		if m == nil || !slices.Contains(Fields(), strings.ToLower(m[2])) && !strings.HasPrefix(strings.ToLower(m[2]), "label.") {
			not := strings.HasPrefix(piece, "-") && len(piece) > 1
			word := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(piece, map[bool]string{true: "-"}[not]), `"`, ""))
			all = append(all, Term{Op: ":", Values: []string{word}, Not: not})
			continue
		}
		t := Term{Field: m[2], Op: m[3], Not: m[1] == "-"}
		if !strings.HasPrefix(strings.ToLower(t.Field), "label.") {
			t.Field = strings.ToLower(t.Field)
		}
		for v := range strings.SplitSeq(m[4], ",") {
			if v = strings.ReplaceAll(v, `"`, ""); v != "" {
				t.Values = append(t.Values, v)
			}
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// Slips are the words of a filter that look like a field and are none, staus:failed,
// each with the field that was probably meant, or empty. They are looked for as
// text, as names may have any form; where nothing is found they are the reason.
func Slips(text string) map[string]string {
	slips := map[string]string{}
	for _, piece := range pieces().FindAllString(text, -1) {
		m := termForm().FindStringSubmatch(piece)
		if m == nil || slices.Contains(Fields(), strings.ToLower(m[2])) || strings.HasPrefix(strings.ToLower(m[2]), "label.") {
			continue
		}
		slips[m[2]] = nearest.Word(m[2], Fields())
	}
	return slips
}

// flags are what is: may ask.
var flags = []string{"preemptible", "degraded", "idle"}

func (t Term) check() error {
	for _, v := range t.Values {
		bad := func(problem, hint string) error {
			return codec.FieldError{Path: t.Field, Value: v, Problem: problem, Hint: hint}
		}
		switch t.Field {
		case "gpus", "priority", "try":
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				return bad("is not a number", "like "+t.Field+">=8")
			}
		case "age", "ended":
			if _, err := spec.ParseDuration(v); err != nil {
				return bad("is not a length of time", "like "+t.Field+"<2d or "+t.Field+">90m")
			}
		case "is":
			if !slices.Contains(flags, v) {
				return bad("is not known", "one of "+strings.Join(flags, ", "))
			}
		}
	}
	return nil
}

// Row is what a filter looks at of a workload.
type Row struct {
	ID, Name, Project, User, Kind string
	Number                        int64
	Phase, Reason, GPUType        string
	Words                         []string // what other platforms call its phase
	Nodes                         []string
	GPUs                          float64
	Priority, Attempt             int
	Created, Ended                time.Time // Ended is zero of what goes on
	Labels                        map[string]string
	Preemptible                   bool
	Conditions                    []string
}

// Groups are phases that belong together, as people speak of them.
var Groups = map[string][]string{
	"active":  {"Submitted", "Reviewing", "Building", "Inadmissible", "Queued", "Reserved", "Starting", "Running", "Restarting", "Terminating", "Backoff", "Publishing", "Deleting"},
	"started": {"Starting", "Running", "Restarting", "Terminating", "Publishing"},
	"waiting": {"Submitted", "Reviewing", "Building", "Inadmissible", "Queued", "Reserved", "Backoff"},
	"pending": {"Submitted", "Reviewing", "Building", "Inadmissible", "Queued", "Reserved", "Backoff"},
	"ended":   {"Completed", "Failed", "Stopped", "Canceled", "Preempted", "TimedOut", "Lost", "Deleted"},
	"bad":     {"Failed", "Lost", "TimedOut"},
}

// Matches reports whether a row is meant by all terms. me is who asks.
func Matches(terms []Term, r Row, me string, now time.Time) bool {
	return !slices.ContainsFunc(terms, func(t Term) bool {
		if len(t.Values) == 0 {
			return false
		}
		return t.Not == slices.ContainsFunc(t.Values, func(v string) bool { return t.one(v, r, me, now) })
	})
}

// AsksDeleted reports whether terms ask for what was deleted, which lists leave
// out otherwise.
func AsksDeleted(terms []Term) bool {
	return slices.ContainsFunc(terms, func(t Term) bool {
		return t.Field == "status" && !t.Not && slices.ContainsFunc(t.Values, func(v string) bool { return strings.EqualFold(v, "deleted") })
	})
}

func (t Term) one(v string, r Row, me string, now time.Time) bool {
	switch t.Field {
	case "":
		return strings.Contains(strings.ToLower(r.Name), v) || strings.Contains(r.Project, v) || strings.Contains(r.User, v) || r.ID == v
	case "status":
		if group, ok := Groups[strings.ToLower(v)]; ok {
			return slices.Contains(group, r.Phase)
		}
		return like(r.Phase, v) || slices.ContainsFunc(r.Words, func(w string) bool { return like(w, v) })
	case "project":
		return like(r.Project, v)
	case "user":
		return v == "@me" && r.User == me || like(r.User, v)
	case "kind":
		return like(r.Kind, v)
	case "name":
		return like(r.Name, v)
	case "id":
		return r.ID == v || strconv.FormatInt(r.Number, 10) == v
	case "node":
		return slices.ContainsFunc(r.Nodes, func(n string) bool { return like(n, v) })
	case "gpu":
		return r.GPUType != "" && strings.Contains(strings.ToLower(r.GPUType), strings.ToLower(v))
	case "reason":
		return like(r.Reason, v)
	case "gpus":
		return t.compares(r.GPUs, number(v))
	case "priority":
		return t.compares(float64(r.Priority), number(v))
	case "try":
		return t.compares(float64(r.Attempt), number(v))
	case "age":
		return t.ago(r.Created, v, now)
	case "ended":
		return !r.Ended.IsZero() && t.ago(r.Ended, v, now)
	case "label":
		for k := range r.Labels {
			if like(k, v) {
				return true
			}
		}
		return false
	case "is":
		return v == "preemptible" && r.Preemptible || slices.ContainsFunc(r.Conditions, func(c string) bool { return strings.EqualFold(c, v) })
	}
	have, ok := r.Labels[t.Field[len("label."):]]
	return ok && like(have, v)
}

// ago compares how long ago a moment was.
func (t Term) ago(at time.Time, v string, now time.Time) bool {
	d, _ := spec.ParseDuration(v)
	if t.Op == ":" {
		t.Op = "<"
	}
	return t.compares(now.Sub(at).Seconds(), d.Std().Seconds())
}

func number(text string) float64 { n, _ := strconv.ParseFloat(text, 64); return n }

func (t Term) compares(have, want float64) bool {
	switch t.Op {
	case "<":
		return have < want
	case "<=":
		return have <= want
	case ">":
		return have > want
	case ">=":
		return have >= want
	}
	return have == want
}

// like reports whether have is want, in which * stands for anything; whatever
// the case.
func like(have, want string) bool {
	have, want = strings.ToLower(have), strings.ToLower(want)
	parts := strings.Split(want, "*")
	if len(parts) == 1 {
		return have == want
	}
	if !strings.HasPrefix(have, parts[0]) {
		return false
	}
	have = have[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(have, part)
		if i < 0 {
			return false
		}
		have = have[i+len(part):]
	}
	return strings.HasSuffix(have, parts[len(parts)-1])
}
