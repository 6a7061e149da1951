package source

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// Schedule is when a source has a document run again and again. Its fields are those of
// a record of kind Schedule; an empty one is not said.
type Schedule struct {
	Name, Project    string
	Cron             string
	TimeZone         string
	Concurrency      string // allow, forbid or replace
	StartingDeadline spec.Duration
	Suspended        bool
	KeepCompleted    *int
	KeepFailed       *int
}

// YAML is the record of a schedule of a document, as muster apply reads it.
func (s *Schedule) YAML(doc *spec.Document) []byte {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	line("kind", "Schedule")
	line("name", s.Name)
	line("project", s.Project)
	line("cron", strconv.Quote(s.Cron))
	line("timeZone", s.TimeZone)
	line("concurrency", s.Concurrency)
	if s.StartingDeadline > 0 {
		line("startingDeadline", s.StartingDeadline.String())
	}
	if s.Suspended {
		line("suspended", "true")
	}
	if s.KeepCompleted != nil {
		line("keepCompleted", strconv.Itoa(*s.KeepCompleted))
	}
	if s.KeepFailed != nil {
		line("keepFailed", strconv.Itoa(*s.KeepFailed))
	}
	b.WriteString("document:\n")
	for text := range strings.Lines(string(spec.YAML(Scheduled(doc)))) {
		if strings.TrimSpace(text) != "" {
			b.WriteString("  ")
		}
		b.WriteString(text)
	}
	return []byte(b.String())
}

// Scheduled is the document of the runs of a schedule: the schedule has the name and the
// project.
func Scheduled(doc *spec.Document) *spec.Document {
	c := doc.Clone()
	c.Name, c.NamePrefix, c.Project = "", "", ""
	return c
}

// AddScheduled adds a document that is run again and again; nil adds none. Name and
// project are the document's.
func (r *Reader) AddScheduled(doc *spec.Document, s Schedule) {
	if doc == nil {
		return
	}
	r.Add(doc)
	s.Name, s.Project = doc.Name, doc.Project
	if r.Schedules == nil {
		r.Schedules = map[*spec.Document]*Schedule{}
	}
	r.Schedules[doc] = &s
}
