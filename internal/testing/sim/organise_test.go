package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
)

var modes = map[string]core.StopMode{"start": core.StopNone, "stop": core.StopHold, "drain": core.StopHoldAndDrain}

func (s *story) project(words []string) {
	switch id := core.ProjectID(words[2]); words[1] {
	case "create":
		s.command(words, organisation.CreateProject(id))
	case "delete":
		s.command(words, organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: words[2], Drop: true}}, false))
	default:
		s.command(words, organisation.SetProject(organisation.RecordProject, id, modes[words[1]], ""))
	}
}

// organise does what administrators ask of departments and nodes.
func (s *story) organise(words, rest []string) {
	node := core.NodeID(words[1])
	switch words[0] {
	case "department":
		edit := organisation.Edit{What: organisation.RecordDepartment, Name: words[2], Must: organisation.MustExist}
		switch words[1] {
		case "create":
			edit.Must = organisation.MustBeNew
		case "delete":
			edit.Drop = true
		}
		edit.Project = func(p *core.Project) error { p.StopMode = modes[words[1]]; return nil }
		s.command(words, organisation.Organise([]organisation.Edit{edit}, false))
	case "below":
		what := organisation.RecordProject
		if slices.Contains(words, "department") {
			what = organisation.RecordDepartment
		}
		s.command(words, organisation.Organise([]organisation.Edit{{What: what, Name: words[1], Must: organisation.MustExist, Project: func(p *core.Project) error {
			p.Parent = core.ProjectID(words[2])
			return nil
		}}}, false))
	case "quota", "protect":
		s.command(words, organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: words[1], Must: organisation.MustExist, Project: func(p *core.Project) error {
			if words[0] == "quota" {
				p.Pools = map[string]core.PoolQuota{core.AnyPool: {GPU: s.quota(pairs(rest))}}
				return nil
			}
			p.PreemptMinRuntime, p.ReclaimMinRuntime = s.length(pairs(rest)["preempt"]), s.length(pairs(rest)["reclaim"])
			return nil
		}}}, false))
	case "drain":
		s.command(words, organisation.Drain(organisation.DrainRequest{Node: node, Force: slices.Contains(rest, "force"), DryRun: slices.Contains(rest, "dry"), Actor: "user:u"}))
	case "open":
		s.command(words, organisation.CordonNode(node, false, ""))
	case "taint":
		s.command(words, organisation.TaintNode(organisation.Tainting{Node: node, Set: []core.Taint{{Key: "k", Effect: core.TaintEffect(words[2])}}}))
	case "label":
		s.command(words, organisation.LabelNode(node, pairs(rest), nil))
	}
}

// quota is of GPUs.
func (s *story) quota(p map[string]string) core.ResourceQuota {
	number := func(key string) *float64 {
		if p[key] == "" {
			return nil
		}
		n, err := strconv.ParseFloat(p[key], 64)
		s.must(err)
		return &n
	}
	return core.ResourceQuota{Quota: number("gpu"), Limit: number("limit"), Weight: number("weight")}
}

func (s *story) length(text string) *time.Duration {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	s.must(err)
	return &d
}

func (s *story) patience(p map[string]string) {
	for key, d := range map[string]*time.Duration{"first": &s.patient.First, "again": &s.patient.Again, "quantum": &s.patient.Quantum} {
		if given := s.length(p[key]); given != nil {
			*d = *given
		}
	}
}

// live is what can be expected of who shares devices, and of gangs that change
// their size.
func (s *story) live(w *core.Workload, tasks []core.Task, key string) string {
	var all []string
	for i := range tasks {
		t := &tasks[i]
		switch {
		case key == "ranks" && !t.Leaving:
			all = append(all, strconv.Itoa(t.ID.Index))
		case key == "devices":
			for _, d := range t.Devices {
				all = append(all, fmt.Sprintf("%d:%d", d.Index, d.Milli))
			}
		case key == "world" && !t.Leaving && !t.State.Ended():
			for _, l := range s.w.links {
				if world := variable(l.started[t.ID], "WORLD_SIZE"); world != "" {
					all = append(all, variable(l.started[t.ID], "RANK")+"/"+world)
				}
			}
		}
	}
	if key == "message" {
		return strings.ReplaceAll(w.Message, " ", "_")
	}
	return strings.Join(all, ",")
}
