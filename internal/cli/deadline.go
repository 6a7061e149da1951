package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// deadlineLine prints by when it is to be done, and whether it will be.
func (s *session) deadlineLine(b *strings.Builder, d *api.DeadlineState, m moments) {
	if d == nil {
		return
	}
	clock := func(t api.Time) string { return m.clockTime(time.Time(t)) }
	said, tone := "", toneGood
	switch {
	case d.Missed:
		said, tone = "missed", toneBad
	case d.InTime == nil && d.ExpectedEnd == nil:
		said, tone = "nobody can tell whether in time", toneDim
	case *d.InTime:
		said = "in time: expected to be done by " + clock(*d.ExpectedEnd)
	default:
		said, tone = "late: expected to be done by "+clock(*d.ExpectedEnd), toneBad
	}
	left := ""
	if d.Left != "" {
		if n, err := time.ParseDuration(d.Left); err == nil {
			left = " (in " + age(n) + ")"
		}
	}
	fmt.Fprintf(b, "Deadline        %s%s, %s\n", clock(d.At), left, s.paint(s.io.OutTerminal, tone, said))
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
		fmt.Fprintf(b, "                %s\n", s.paint(s.io.OutTerminal, toneDim, strings.Join(rest, "; ")))
	}
}

func shortLength(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return age(d)
	}
	return text
}

// lengthWords says where the length of a workload is from.
var lengthWords = map[string]string{"expectedDuration": "(its expectedDuration)", "learnt": "(as its likes did)", "maxDuration": "(its time limit)"}
