package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/firsterror"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// cardLines is how many lines of an error a card shows; logs --first-error has
// them all.
const cardLines = 8

// cardLimit bounds, in characters, a line of an error in a card.
const cardLimit = 200

// errorOf is an error that the server has found, as one that was found here.
func errorOf(e api.FirstError) *firstError {
	return &firstError{
		Finding: firsterror.Finding{Kind: firsterror.Kind(e.Kind), Title: e.Title, Excerpt: e.Excerpt, Line: e.Line, Echo: e.Echo},
		Task:    e.Task, Role: e.Role, Node: e.Node, Devices: e.Devices, Attempt: e.Attempt, At: e.At, Hint: e.Hint,
	}
}

// failedAttempt is the latest attempt that failed, where the workload is what it
// is for that; negative: there is none.
func failedAttempt(w *api.Workload) int {
	switch lifecycle.Phase(w.Phase) {
	case lifecycle.Failed, lifecycle.Lost, lifecycle.Backoff, lifecycle.Queued, lifecycle.Starting, lifecycle.Running, lifecycle.Restarting:
	default:
		return -1
	}
	for _, a := range slices.Backward(w.Attempts) {
		if a.Culprit != nil || a.ExitCode != nil && *a.ExitCode != 0 {
			return a.Index
		}
		if a.EndedAt != nil {
			return -1
		}
	}
	return -1
}

// ErrorCard shows what went wrong in the latest failed attempt: who, where, what
// sort, the lines, and what to do. It is one part of many: where the server
// cannot tell, it says so and nothing fails.
func ErrorCard(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) error {
	attempt := failedAttempt(w)
	if attempt < 0 {
		return nil
	}
	r, err := c.FirstError(ctx, w.Project, w.ID, attempt)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		s.Say("the first error is not known: %v", err)
		return nil
	}
	if r.Error == nil {
		return nil
	}
	f := errorOf(*r.Error)
	var b strings.Builder
	fmt.Fprintf(&b, "\nFirst error\n %s: %s\n", s.Paint(s.IO.OutTerminal, session.ToneTitle, errorPlace(s, f)), s.Paint(s.IO.OutTerminal, session.ToneBad, f.Title))
	shown := f.Excerpt
	if len(shown) > cardLines { // how it began, and how it ended
		shown = append(slices.Clone(shown[:cardLines/2]), append([]string{fmt.Sprintf("… %s", session.Plural(len(f.Excerpt)-cardLines, "line"))}, shown[len(shown)-cardLines/2:]...)...)
	}
	for _, line := range shown {
		fmt.Fprintf(&b, "   %s\n", s.Paint(s.IO.OutTerminal, session.ToneDim, session.Cut(session.Flat(line), cardLimit)))
	}
	if f.Hint != "" {
		fmt.Fprintf(&b, " %s %s\n", s.Paint(s.IO.OutTerminal, session.ToneDim, "fix:"), f.Hint)
	}
	if len(r.Also) > 0 {
		b.WriteString(s.Called(fmt.Sprintf(" also in %s; muster logs %s --first-error --attempt %d shows where\n", session.Plural(len(r.Also), "other task"), w.Name, attempt)))
	}
	_, err = fmt.Fprint(s.IO.Out, b.String())
	return err
}
