// Package cron reads when a CronJob of Kubernetes, or of Volcano, starts its jobs.
package cron

import (
	"errors"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/recur"
)

// Read reads the spec of a CronJob but for its template; false: it says no time, which
// is refused.
func Read(r *source.Reader, s *source.Map) (source.Schedule, bool) {
	var out source.Schedule
	cron := s.Consume("schedule")
	if cron == nil {
		r.Refuse(s.Tree.Line, source.FieldPath(s.Path, "schedule"), "", "is missing", "write when it runs, such as \"0 2 * * *\"")
		return out, false
	}
	out.Cron = cron.Text()
	if zone, rest, set := strings.Cut(out.Cron, " "); set && (strings.HasPrefix(zone, "TZ=") || strings.HasPrefix(zone, "CRON_TZ=")) {
		_, out.TimeZone, _ = strings.Cut(zone, "=")
		out.Cron = strings.TrimSpace(rest)
		cron.Translated("cron", "its zone is timeZone")
	} else {
		cron.Kept("cron")
	}
	var bad *recur.Problem
	if _, err := recur.Parse(out.Cron); errors.As(err, &bad) {
		cron.Refuse(bad.Message, bad.Hint)
	}
	if v := s.Consume("timeZone"); v != nil {
		out.TimeZone = v.Text()
		v.Kept("timeZone")
	}
	if out.TimeZone == "" {
		r.Note(source.Note{Line: cron.Line, Field: source.FieldPath(s.Path, "timeZone"), Fate: source.Translated, To: "timeZone", Reason: "it is not said: Kubernetes takes that of its controller, which is mostly UTC, as here"})
	}
	policies := map[string]string{"Allow": "", "Forbid": "forbid", "Replace": "replace"}
	if v := s.Consume("concurrencyPolicy"); v != nil {
		word, known := policies[v.Text()]
		if out.Concurrency = word; known {
			v.Translated("concurrency", "")
		} else {
			v.Refuse("is not a policy", "allowed are Allow, Forbid and Replace")
		}
	}
	if v := s.Consume("suspend"); v != nil {
		out.Suspended = v.Bool()
		v.Kept("suspended")
	}
	if v := s.Consume("startingDeadlineSeconds"); v != nil {
		out.StartingDeadline = source.Seconds(v.Integer(0))
		if out.StartingDeadline == 0 {
			out.StartingDeadline = source.Seconds(1)
			v.Approximated("startingDeadline", "it is a second at least")
		} else {
			v.Translated("startingDeadline", "")
		}
	}
	limit := func(name, to string) *int {
		v := s.Consume(name)
		if v == nil {
			return nil
		}
		n := v.Integer(0)
		v.Translated(to, "")
		return &n
	}
	out.KeepCompleted = limit("successfulJobsHistoryLimit", "keepCompleted")
	out.KeepFailed = limit("failedJobsHistoryLimit", "keepFailed")
	return out, true
}
