package control

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/plane"
)

// endpoint is where a gang's first rank listens.
type endpoint struct {
	address string
	port    int
}

// assignment is everything a plane needs to run t.
func assignment(w *core.Workload, t *core.Task, at endpoint) plane.Assignment {
	s := w.Spec
	a := plane.Assignment{
		ID: t.ID, Node: t.Node, Devices: t.Devices, Image: s.Image,
		Argv:    append(slices.Clone(s.Command.Argv), s.Args...),
		Workdir: s.Workdir,
		Env:     environment(w, t, at),
		CPU:     s.Resources.CPU.Milli(),
		Memory:  s.Resources.Memory.Units(),
	}
	if len(s.Parameters) > 0 {
		a.Files = append(a.Files, plane.File{Name: "parameters.yaml", EnvVar: "PARAMETERS", Data: s.Parameters.YAML()})
	}
	return a
}

// environment is the union of what the platforms that Muster speaks for put
// into a task: mcli's (docs.mosaicml.com, "Environment variables"), torchrun's,
// Run:ai's JOB_NAME, JOB_UUID, POD_INDEX, POD_UUID, and our own. The author's
// own variables win.
func environment(w *core.Workload, t *core.Task, at endpoint) []string {
	n := w.Spec.Size()
	gpus := w.Spec.Resources.GPU.Count
	index, attempt := strconv.Itoa(t.ID.Index), strconv.Itoa(t.ID.Attempt)
	m := map[string]string{
		"MUSTER_WORKLOAD":    w.Name,
		"MUSTER_WORKLOAD_ID": string(w.ID),
		"MUSTER_PROJECT":     string(w.Project),
		"MUSTER_ATTEMPT":     attempt,
		"MUSTER_TASK_INDEX":  index,
		"MUSTER_TASK_COUNT":  strconv.Itoa(n),
		"MUSTER_TASK_ROLE":   t.Role,
		"MUSTER_NODE":        string(t.Node),

		"JOB_NAME": w.Name, "JOB_UUID": string(w.ID),
		"POD_INDEX": index, "POD_UUID": t.ID.String(),
		"RUNAI_JOB_NAME": w.Name, "RUNAI_PROJECT": string(w.Project),

		"RUN_NAME": w.Name, "COMPOSER_RUN_NAME": w.Name,
		"RESUMPTION_INDEX": attempt, "MOSAICML_PLATFORM": "true",
		"LOCAL_WORLD_SIZE": strconv.Itoa(max(gpus, 1)),

		"PYTHONUNBUFFERED": "1",
	}
	if w.Kind == lifecycle.Distributed {
		m["MASTER_ADDR"], m["MASTER_PORT"] = at.address, strconv.Itoa(at.port)
		m["NODE_RANK"], m["NUM_NODES"] = index, strconv.Itoa(n)
		m["RANK"], m["WORLD_SIZE"] = index, strconv.Itoa(n)
		m["LOCAL_RANK"] = "0"
	} else {
		m["NODE_RANK"], m["NUM_NODES"] = "0", "1"
	}
	for k, v := range w.Spec.Env {
		m[k] = v
	}
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(a, b) })
	return out
}
