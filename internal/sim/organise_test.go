package sim

import (
	"slices"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
)

var modes = map[string]core.StopMode{"start": core.StopNone, "stop": core.StopHold, "drain": core.StopHoldAndDrain}

func (s *story) project(words []string) {
	switch id := core.ProjectID(words[2]); words[1] {
	case "create":
		s.command(words, control.CreateProject(id))
	case "delete":
		s.command(words, control.Organise([]control.Edit{{What: control.RecordProject, Name: words[2], Drop: true}}, false))
	default:
		s.command(words, control.SetProject(control.RecordProject, id, modes[words[1]], ""))
	}
}

// organise does what administrators ask of departments and nodes.
func (s *story) organise(words, rest []string) {
	node := core.NodeID(words[1])
	switch words[0] {
	case "department":
		edit := control.Edit{What: control.RecordDepartment, Name: words[2], Must: control.MustExist}
		switch words[1] {
		case "create":
			edit.Must = control.MustBeNew
		case "delete":
			edit.Drop = true
		}
		edit.Project = func(p *core.Project) error { p.StopMode = modes[words[1]]; return nil }
		s.command(words, control.Organise([]control.Edit{edit}, false))
	case "below":
		what := control.RecordProject
		if slices.Contains(words, "department") {
			what = control.RecordDepartment
		}
		s.command(words, control.Organise([]control.Edit{{What: what, Name: words[1], Must: control.MustExist, Project: func(p *core.Project) error {
			p.Parent = core.ProjectID(words[2])
			return nil
		}}}, false))
	case "drain":
		s.command(words, control.Drain(control.DrainRequest{Node: node, Force: slices.Contains(rest, "force"), DryRun: slices.Contains(rest, "dry"), Actor: "user:u"}))
	case "open":
		s.command(words, control.CordonNode(node, false, ""))
	case "taint":
		s.command(words, control.TaintNode(control.Tainting{Node: node, Set: []core.Taint{{Key: "k", Effect: core.TaintEffect(words[2])}}}))
	case "label":
		s.command(words, control.LabelNode(node, pairs(rest), nil))
	}
}
