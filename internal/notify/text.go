package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// subject is what happened, in one line.
func subject(d *core.Delivery) string {
	w := &d.What
	switch {
	case w.Workload == "":
		return "Muster: a test"
	case !w.EndsAt.IsZero():
		return fmt.Sprintf("%s will be ended at %s (%s)", w.Name, w.EndsAt.UTC().Format("15:04 MST"), w.Reason)
	case w.Reason != "":
		return fmt.Sprintf("%s is %s: %s", w.Name, w.Phase, w.Reason)
	}
	return fmt.Sprintf("%s is %s", w.Name, w.Phase)
}

// text is what there is to know, for people.
func text(d *core.Delivery) string {
	w := &d.What
	if w.Workload == "" {
		return w.Message + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s of project %s, attempt %d", w.Kind, w.Name, w.Project, w.Attempt)
	if w.Owner != "" && w.Owner != d.User {
		fmt.Fprintf(&b, ", of %s", w.Owner)
	}
	if w.From != "" && w.EndsAt.IsZero() {
		fmt.Fprintf(&b, ", was %s and is %s", w.From, w.Phase)
	}
	b.WriteString(".\n")
	if w.Message != "" {
		fmt.Fprintf(&b, "%s\n", w.Message)
	}
	if w.Culprit != nil {
		fmt.Fprintf(&b, "The first task that failed is task %d.\n", *w.Culprit)
	}
	if !w.StartedAt.IsZero() && !w.EndedAt.IsZero() {
		fmt.Fprintf(&b, "From its start to its end: %v", w.EndedAt.Sub(w.StartedAt).Round(time.Second))
		if w.GPUSeconds > 0 {
			fmt.Fprintf(&b, ", %.2f GPU hours", w.GPUSeconds/3600)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "\nmuster describe %s tells more", w.Name)
	switch {
	case !w.EndsAt.IsZero():
		fmt.Fprintf(&b, "; muster update %s can give it more time", w.Name)
	case w.Culprit != nil:
		fmt.Fprintf(&b, "; muster logs %s shows why it failed", w.Name)
	}
	b.WriteString(".\n")
	return b.String()
}
