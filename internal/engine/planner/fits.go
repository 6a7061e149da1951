package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Feasible refuses what could never run here, with the numbers.
func Feasible(tx *draft.Tx, doc *spec.Document, user string) error {
	if doc.Kind.Foreign() {
		return nil // it waits with the reason
	}
	if err := draft.Resolved(doc); err != nil {
		return err
	}
	if doc.Image == "" && doc.Build == nil && onlyImages(tx) {
		return &draft.Error{Code: draft.CodeInvalid, Field: "image", Message: "image is not set, and every node of this server runs containers only", Hint: "give --image, or image in the document"}
	}
	if doc.Image != "" && !tx.State.D.Images {
		return &draft.Error{Code: draft.CodeUnsupported, Field: "image", Message: "this server runs processes of its machine, not container images", Hint: "leave image out and give the command, or install runc (apt-get install runc) and start the server as root"}
	}
	if doc.Build != nil && !tx.State.D.Builds {
		return &draft.Error{Code: draft.CodeUnsupported, Field: "build", Message: "this server cannot build images", Hint: "give an image, or install runc (apt-get install runc) and start the server as root"}
	}
	if err := clustersExist(tx, doc); err != nil {
		return err
	}
	if err := claimable(tx, doc); err != nil {
		return err
	}
	if err := tx.SecretsExist(doc, user, core.ProjectID(cmp.Or(doc.Project, string(core.DefaultProject)))); err != nil {
		return err
	}
	if err := tx.LicensesExist(doc); err != nil {
		return err
	}
	if err := tx.Receivers(doc, user); err != nil {
		return err
	}
	if err := Fits(tx, doc); err != nil && Surveyed(tx) {
		return err
	}
	return nil // or nobody can tell yet: then it waits as Submitted
}

// onlyImages reports whether no node runs processes.
func onlyImages(tx *draft.Tx) bool {
	for _, n := range tx.State.Nodes {
		if n.Labels[core.LabelRuns] != core.RunsImages {
			return false
		}
	}
	return len(tx.State.Nodes) > 0
}

// Surveyed reports whether what every backend has is known: none is silent and
// no node of theirs is not ready, whose devices may come back.
func Surveyed(tx *draft.Tx) bool {
	for _, n := range tx.State.Nodes {
		if !n.Ready {
			return false
		}
	}
	return len(tx.State.Nodes) > 0 && len(tx.State.Cut) == 0
}

// Fits says with the numbers why a document could never run on the nodes that
// are known.
func Fits(tx *draft.Tx, doc *spec.Document) error {
	if doc.Kind.Foreign() {
		return nil // what it asks for may be made otherwise at any time
	}
	Sync(tx)
	if r, ok := everFits(tx, tx.State.Fresh(doc)); !ok {
		BarredFor(tx, &core.Workload{Spec: doc}).Into(&r)
		field := "resources"
		switch {
		case r.Label != "":
			field = conditionField(doc, &r)
		case r.Segment > 0:
			field = "topology.segment.size"
		case r.Resource == "tasks":
			field = "workers"
		case strings.Contains(r.Resource, "/"):
			field += ".extended." + r.Resource
		case r.Resource != "":
			field += "." + r.Resource
		}
		return &draft.Error{Code: draft.CodeUnschedulable, Field: field, Message: r.String(), Hint: r.Hint()}
	}
	return nil
}

// conditionField is the field of a document that has the condition on nodes which
// a reason is about.
func conditionField(doc *spec.Document, r *schedule.Reason) string {
	_, selected := doc.NodeSelector[r.Label]
	about := func(t spec.NodeTerm) bool { return t.Key == r.Label }
	switch {
	case r.Resource == "apart" || r.Resource == "near":
		return r.Resource
	case selected:
		return "nodeSelector." + r.Label
	case r.Label == spec.NodeTypeLabel:
		return "nodeType"
	case !slices.ContainsFunc(doc.NodeAffinity, about) && slices.ContainsFunc(doc.NodeAffinityAny, func(c spec.NodeChoice) bool { return slices.ContainsFunc(c.Terms, about) }):
		return "nodeAffinityAny"
	default:
		return "nodeAffinity"
	}
}
