package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// deadlineLine prints the deadline of a workload, and whether it is expected to be met.
func deadlineLine(s *session.Session, b *strings.Builder, d *api.DeadlineState, m session.Moments) {
	if d == nil {
		return
	}
	clock := func(t api.Time) string { return m.ClockTime(time.Time(t)) }
	text, tone := "", session.ToneGood
	switch {
	case d.Missed:
		text, tone = "missed", session.ToneBad
	case d.InTime == nil && d.ExpectedEnd == nil:
		text, tone = "nobody can tell whether in time", session.ToneDim
	case *d.InTime:
		text = "in time: expected to be done by " + clock(*d.ExpectedEnd)
	default:
		text, tone = "late: expected to be done by "+clock(*d.ExpectedEnd), session.ToneBad
	}
	left := ""
	if d.Left != "" {
		if n, err := time.ParseDuration(d.Left); err == nil {
			left = " (in " + session.Age(n) + ")"
		}
	}
	fmt.Fprintf(b, "Deadline        %s%s, %s\n", clock(d.At), left, s.Paint(s.IO.OutTerminal, tone, text))
	var rest []string
	if d.LatestStart != nil {
		rest = append(rest, fmt.Sprintf("latest start %s: it takes %s %s", clock(*d.LatestStart), shortLength(d.Length), lengthWords[d.LengthFrom]))
	} else if !d.Missed {
		rest = append(rest, "its length is not known: give expectedDuration or maxDuration")
	}
	if d.Action == "stop" && !d.Missed {
		rest = append(rest, "it is stopped then")
	}
	if len(rest) > 0 {
		fmt.Fprintf(b, "                %s\n", s.Paint(s.IO.OutTerminal, session.ToneDim, strings.Join(rest, "; ")))
	}
}

func shortLength(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return session.Age(d)
	}
	return text
}

// lengthWords says where the length of a workload is from.
var lengthWords = map[string]string{"expectedDuration": "(its expectedDuration)", "learnt": "(as its likes did)", "maxDuration": "(its time limit)"}
