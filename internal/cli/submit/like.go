package submit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// idTail is how many characters the server puts behind a name that it makes.
const idTail = 6

// takeLike makes the document of a workload, or of an attempt of it, what flags
// change. Its name becomes the beginning of a new one.
func takeLike(ctx context.Context, s *session.Session, o *runOptions) error {
	name, number, err := inspect.SplitAttempt(o.like)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	// --project says where the new one goes; the old one is looked for everywhere.
	w, err := s.Resolve(ctx, c, session.Scope{}, name)
	if err != nil {
		return err
	}
	from, err := inspect.SideOf(w, number)
	if err != nil {
		return err
	}
	doc := printers.DocOf(w)
	if number >= 0 {
		if doc, err = spec.DocumentOf(from.Fields); err != nil {
			return err
		}
	}
	delete(doc.Annotations, document.KeptConfig) // which flags do not change
	doc.NamePrefix, doc.Name = cmp.Or(printers.DocOf(w).NamePrefix, rootOf(w.Name)), ""
	o.document.Base, o.document.LikeName = doc, w.Name
	return nil
}

// rootOf is a name without what a server has put behind it, so that a copy of a
// copy has no longer name.
func rootOf(name string) string {
	root, tail := name, ""
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		root, tail = name[:i], name[i+1:]
	}
	if len(tail) != idTail || strings.Trim(tail, "0123456789abcdefghjkmnpqrstvwxyz") != "" || !strings.ContainsAny(tail, "0123456789") {
		root = name
	}
	return strings.TrimRight(root[:min(len(root), spec.MaxName-1-idTail)], "-")
}

// sayDifference tells in what a document differs from the one that it was made
// from.
func sayDifference(s *session.Session, from, to *spec.Document, name string) {
	changes := spec.Changes(spec.WithDefaults(from), spec.WithDefaults(to))
	shown := 0
	for _, c := range changes {
		if c.Path == "name" || c.Path == "namePrefix" || strings.HasPrefix(c.Path, "env.") && slices.Contains(document.Carried, c.Path[len("env."):]) {
			continue
		}
		if shown++; shown == 1 {
			s.Say("like %s, but", name)
		}
		s.Say("  %s: %s → %s", c.Path, inspect.ValueText(c.From), inspect.ValueText(c.To))
	}
	if shown == 0 {
		s.Say("like %s, in everything", name)
	}
}
