package slurm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// mailEvent is what one word of --mail-type tells of.
type mailEvent struct {
	word string
	on   []string // statuses here
	near string   // what differs, where something does
	lost bool
}

// mailEvents are the words of --mail-type (slurm.schedmd.com/sbatch.html).
func mailEvents() []mailEvent {
	end := slices.DeleteFunc(spec.OnByDefault(), func(s string) bool { return spec.ConditionOf(s) != "" })
	near := []string{string(lifecycle.DeadlineNear)}
	return []mailEvent{
		{word: "BEGIN", on: []string{"Running"}},
		{word: "END", on: end},
		{word: "FAIL", on: []string{"Failed", "TimedOut", "Lost"}},
		{word: "REQUEUE", on: []string{"Backoff"}, near: "of what is tried again after a failure, not of what was preempted"},
		{word: "TIME_LIMIT", on: []string{"TimedOut"}},
		{word: "TIME_LIMIT_90", on: near, near: "a tenth of the limit before, at most ten minutes"},
		{word: "TIME_LIMIT_80", on: near, near: "a tenth of the limit before, at most ten minutes"},
		{word: "TIME_LIMIT_50", on: near, near: "a tenth of the limit before, at most ten minutes"},
		{word: "INVALID_DEPEND", near: "what waits for something that ended otherwise waits on, in case that is restarted"},
		{word: "STAGE_OUT", near: "there are no burst buffers"},
		{word: "ARRAY_TASKS", near: "there is one message for the whole array", lost: true},
		{word: "NONE"},
	}
}

// mail converts --mail-user and --mail-type.
func (s *script) mail() {
	user, types := s.consume("mail-user"), s.consume("mail-type")
	switch {
	case user == nil && types == nil:
		return
	case types == nil:
		s.record(user, source.Ignored, false, "", "nobody is mailed without --mail-type")
		return
	}
	var on []string
	var notes []string
	lost := false
	for word := range strings.FieldsFuncSeq(types.value, func(c rune) bool { return c == ',' || c == ' ' }) {
		found := false
		for _, e := range mailEvents() {
			if e.word != strings.ToUpper(word) && (!strings.EqualFold(word, "ALL") || !slices.Contains([]string{"BEGIN", "END", "FAIL", "REQUEUE"}, e.word)) {
				continue
			}
			found = true
			if e.near != "" {
				notes = append(notes, strings.ToUpper(word)+": "+e.near)
			}
			lost = lost || e.lost
			for _, status := range e.on {
				if !slices.Contains(on, status) {
					on = append(on, status)
				}
			}
		}
		if !found {
			s.refuse(types, "has no word "+source.Shorten(word), "write NONE, BEGIN, END, FAIL, REQUEUE, ALL, or TIME_LIMIT_90")
			return
		}
	}
	reason := strings.Join(notes, "; ")
	switch {
	case len(on) == 0:
		s.record(types, source.Ignored, lost, "", cmp.Or(reason, "nobody is mailed"))
		if user != nil {
			s.record(user, source.Ignored, false, "", "nobody is mailed")
		}
	case user == nil:
		s.record(types, source.Ignored, false, "", "nobody is mailed without --mail-user: users have no addresses here")
	default:
		s.mailTo(user, types, on, reason, lost)
	}
}

func (s *script) mailTo(user, types *directive, on []string, reason string, lost bool) {
	for to := range strings.SplitSeq(user.value, ",") {
		to = strings.TrimSpace(to)
		if !spec.Address(to) {
			s.record(user, source.Ignored, false, "", source.Shorten(to)+" is no whole address, and users have none here; write it like ana@example.com")
			s.record(types, source.Ignored, false, "", "nobody is mailed")
			s.doc.Notifications = nil
			return
		}
		s.doc.Notifications = append(s.doc.Notifications, spec.Notification{Email: to, On: on})
	}
	s.translated(user, "notifications")
	if reason == "" {
		s.record(types, source.Translated, false, "notifications", "")
	} else {
		s.record(types, source.Approximated, lost, "notifications", reason)
	}
}
