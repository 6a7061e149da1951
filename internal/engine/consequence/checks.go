package consequence

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/checking"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// scopeChecks are the checks of the scopes above w that are about it, nearest first.
func scopeChecks(tx *draft.Tx, w *core.Workload) (all []core.CheckState) {
	if w.Kind.Foreign() {
		return nil // others have made it, and it runs
	}
	for _, s := range checking.Above(tx, w.Project) {
		seen := checking.Reviewed(tx, s.Project, s.Name)
		if !s.Rule.For(w, seen) {
			continue
		}
		c := s.Rule.State(s.Name, s.Project, w, tx.Now, seen)
		if slices.ContainsFunc(all, func(x core.CheckState) bool { return x.Name == c.Name }) {
			c.Called = c.Name
			c.Name = c.Name + "-" + strings.Trim(string(s.Project), "-")
			if s.Project == core.SystemScope {
				c.Name += "system"
			}
		}
		all = append(all, c)
	}
	return all
}

// Vote notes that one more person approves check i, which is enough or not. It must run
// inside change.
func Vote(tx *draft.Tx, d *draft.Draft, i int, v core.Vote, by string) error {
	d.W.Checks = slices.Clone(d.W.Checks)
	c := &d.W.Checks[i]
	v.At = tx.Now
	c.Votes = append(slices.Clone(c.Votes), v)
	if admission.Approved(c) {
		return Decide(tx, d, i, core.CheckApproved, by, v.Message)
	}
	if d.W.Phase != lifecycle.Reviewing {
		return nil
	}
	return tx.Step(d, reviews(d.W, lifecycle.CheckStarted, fmt.Sprintf("check %s has %s", c.Name, admission.Tally(c))), by)
}

// askAnew has people approve check i from the beginning: those who have, have not been
// enough in time.
func askAnew(tx *draft.Tx, d *draft.Draft, i int) error {
	d.W.Checks = slices.Clone(d.W.Checks)
	c := &d.W.Checks[i]
	had := admission.Tally(c)
	c.Votes, c.Deadline = nil, tx.Now.Add(c.Within)
	c.Message = fmt.Sprintf("had %s in %s, and is asked anew", had, c.Within)
	if d.W.Phase != lifecycle.Reviewing {
		return nil
	}
	return tx.Step(d, reviews(d.W, lifecycle.CheckStarted, "check "+c.Name+" "+c.Message), draft.ActorControl)
}

// reviewed remembers the images of a check that was approved, so that nobody is asked
// about them again.
func reviewed(tx *draft.Tx, c *core.CheckState, by string) {
	s, ok := checking.One(tx, draft.CheckID(c.Scope, draft.CheckName(c)))
	if !ok || s.Rule.Type != admission.Image {
		return
	}
	for _, key := range s.Rule.Remembered(c) {
		id := draft.ReviewedID(s.Project, s.Name, key)
		if _, there := tx.Template(id); there {
			continue
		}
		user := strings.TrimPrefix(by, "user:")
		says, _ := json.Marshal(map[string]string{"check": s.Name, "image": key}) // of texts alone
		t := core.Template{Project: id.Project, Kind: id.Kind, Name: id.Name, User: user, CreatedAt: tx.Now}
		t.Revise(string(says), user, tx.Now, 1)
		checking.Keep(tx, t)
	}
}

// SeenElsewhere approves checks about images that somebody has looked at meanwhile, for
// all who wait for that.
func SeenElsewhere(tx *draft.Tx, of *core.CheckState) error {
	for id := range tx.Workloads() {
		w, _, ok := tx.View(id)
		if !ok || !w.Phase.Checking() {
			continue
		}
		i := slices.IndexFunc(w.Checks, func(c core.CheckState) bool {
			return c.Type == admission.Image && c.Verdict == core.CheckWaiting && c.Scope == of.Scope && draft.CheckName(&c) == draft.CheckName(of)
		})
		if i < 0 {
			continue
		}
		s, ok := checking.One(tx, draft.CheckID(of.Scope, draft.CheckName(of)))
		if !ok || len(s.Rule.Unseen(w.Spec, checking.Reviewed(tx, s.Project, s.Name))) > 0 {
			continue
		}
		d, open := tx.Open(id)
		if !open {
			continue
		}
		err := tx.Change(d, func() error {
			return Decide(tx, d, i, core.CheckApproved, of.By, "its image was approved with another workload")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answered writes to the audit log what a program has decided; what people decide is
// written with their request.
func answered(tx *draft.Tx, w *core.Workload, c *core.CheckState) {
	if c.Type != admission.Webhook {
		return
	}
	result := core.AuditDone
	if c.Verdict == core.CheckRejected {
		result = core.AuditRefused
	}
	text := string(c.Verdict)
	if c.Message != "" {
		text += ": " + c.Message
	}
	RecordAnswer(tx, w, c, result, text)
}

// RecordAnswer writes to the audit log what came of a question to a program.
func RecordAnswer(tx *draft.Tx, w *core.Workload, c *core.CheckState, result core.AuditResult, text string) {
	if !tx.Rights().Control().Audited() {
		return
	}
	tx.Audit(core.AuditEntry{
		Actor: "check:" + c.Name, Action: "check", Verb: rbac.Approve, Noun: rbac.NounOf(w.Kind),
		Object: fmt.Sprintf("%s/%s %s", w.Project, w.Name, w.ID), Result: result, Message: text,
	})
}

// Release approves, or asks again, what waits for a check of a scope that has changed or
// is there no more.
func Release(tx *draft.Tx, scope core.ProjectID, name string, gone bool, by string) error {
	for id := range tx.Workloads() {
		w, _, ok := tx.View(id)
		if !ok || !w.Phase.Checking() {
			continue
		}
		i := slices.IndexFunc(w.Checks, func(c core.CheckState) bool {
			return c.Scope == scope && draft.CheckName(&c) == name && c.Verdict != core.CheckApproved && (w.Phase == lifecycle.Reviewing) == (c.When == workload.AtQueue)
		})
		if i < 0 || !gone && w.Checks[i].Verdict != core.CheckAsked {
			continue
		}
		d, open := tx.Open(id)
		if !open {
			continue
		}
		err := tx.Change(d, func() error {
			if gone {
				return Decide(tx, d, i, core.CheckApproved, by, "the check is there no more")
			}
			d.W.Checks = slices.Clone(d.W.Checks)
			d.W.Checks[i].AskAt = tx.Now
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LookedAt refuses to give a service another document whose images somebody has to look
// at first: it goes on to run, and would wait for nobody.
func LookedAt(tx *draft.Tx, w *core.Workload, doc *spec.Document) error {
	for _, s := range checking.Above(tx, w.Project) {
		if s.Rule.Type != admission.Image || len(s.Rule.Kinds) > 0 && !slices.Contains(s.Rule.Kinds, string(w.Kind)) {
			continue
		}
		if images := s.Rule.Unseen(doc, checking.Reviewed(tx, s.Project, s.Name)); len(images) > 0 {
			return &draft.Error{
				Code: draft.CodeConflict, Field: "image", Message: fmt.Sprintf("check %s asks for a review of %s before its first use, and what serves does not wait for one", s.Name, strings.Join(images, " and ")),
				Hint: "submit something else with that image and have it approved, then update again",
			}
		}
	}
	return nil
}
