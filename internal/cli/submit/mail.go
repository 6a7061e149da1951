package submit

import (
	"errors"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

// Unmailed is a document of another system without its mails, where a server
// refuses it because it sends none: there, too, a job runs on whose mail nobody
// carries. nil: it was refused for something else.
func Unmailed(s *session.Session, doc *spec.Document, err error) *spec.Document {
	var p *api.Problem
	if !errors.As(err, &p) || p.Code != "unsupported" || !slices.ContainsFunc(p.Errors, func(e api.FieldProblem) bool {
		return strings.HasPrefix(e.Path, "notifications[") && strings.HasSuffix(e.Path, ".email")
	}) {
		return nil
	}
	c := *doc
	c.Notifications = slices.DeleteFunc(slices.Clone(doc.Notifications), func(n spec.Notification) bool { return n.Email != "" })
	s.Say("nobody is mailed: this server sends no mail (muster server --smtp-server)")
	return &c
}
