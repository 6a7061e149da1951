package runai

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// The words that statuses are in: of the first age of jobs, and of workloads.
const (
	oldWords = string(lifecycle.RunaiJob)
	newWords = string(lifecycle.RunaiWorkload)
)

// project is the one that is meant; "": any.
func project(c *compat.Call) string {
	return cmp.Or(c.Text("project"), c.Setting("MUSTER_PROJECT"))
}

// holds reports whether a workload is of the family.
func (f family) holds(w *api.Workload) bool {
	if len(f.kinds) > 0 && !slices.Contains(f.kinds, w.Kind) {
		return false
	}
	return f.framework == "" || cli.Document(w).Framework == f.framework
}

// find is the workload of a name, which must be of the family. Without a project
// it is looked for in all.
func find(c *compat.Call, f family, project, name string) (*api.Workload, error) {
	w, err := c.Find(c.Context, project, name)
	if err != nil {
		return nil, err
	}
	if !f.holds(w) {
		kind := w.Kind
		if fw := cli.Document(w).Framework; fw != "" && fw != "env" {
			kind += " (" + fw + ")"
		}
		return nil, cli.Missing(fmt.Sprintf("%s is no %s: it is of kind %s", w.Name, f.noun, kind), "runai workload list shows all")
	}
	return w, nil
}

// named is the workload of the first word, or of --name.
func named(c *compat.Call, f family) (*api.Workload, error) {
	name := cmp.Or(c.First(), c.Text("name"))
	if name == "" {
		return nil, cli.Wrong(c.Path+" needs the name of a workload", "runai workload list shows all")
	}
	return find(c, f, project(c), name)
}

// pod is what a task is called.
func pod(w *api.Workload, t *api.Task) string { return podOf(w, t, w.Attempt) }

// podOf is the same of an earlier attempt.
func podOf(w *api.Workload, t *api.Task, attempt int) string {
	if t.Name != "" {
		return t.Name[strings.LastIndexByte(t.Name, '/')+1:]
	}
	switch t.Role {
	case "launcher":
		return w.Name + "-launcher"
	case "master":
		return w.Name + "-master-0"
	case "worker":
		n := t.Index
		if d := cli.Document(w); d.Role(0) != "worker" {
			n--
		}
		return fmt.Sprintf("%s-worker-%d", w.Name, n)
	}
	return fmt.Sprintf("%s-%d-%d", w.Name, t.Index, attempt)
}

// taskFlag is the task that --pod names, as a flag of muster's; nothing where
// none is.
func taskFlag(c *compat.Call, w *api.Workload) ([]string, error) {
	name := cmp.Or(c.Text("pod"), c.Text("instance"))
	if name == "" {
		return nil, nil
	}
	if a := compat.Last(w); a != nil {
		var there []string
		for i := range a.Tasks {
			t := &a.Tasks[i]
			there = append(there, pod(w, t))
			if name == pod(w, t) || name == strconv.Itoa(t.Index) || name == fmt.Sprintf("%d-%d", t.Index, w.Attempt) {
				return []string{"--task", strconv.Itoa(t.Index)}, nil
			}
		}
		return nil, cli.Missing(fmt.Sprintf("%s has no pod %q", w.Name, name), "it has "+strings.Join(there[:min(len(there), 8)], ", "))
	}
	return nil, cli.Missing(fmt.Sprintf("%s has no pods yet", w.Name), "runai describe job "+w.Name+" says why")
}

// status is where a workload is, in one of the platform's languages.
func status(w *api.Workload, words string) string {
	return compat.Dash(w.Statuses[words].Status)
}

// sort is what the first age calls the type of a job.
func sort(w *api.Workload) string {
	switch kind := lifecycle.Kind(w.Kind); {
	case kind.Interactive():
		if w.Preemptible {
			return "Interactive-Preemptible"
		}
		return "Interactive"
	case kind.Replicated():
		return "Inference"
	}
	return "Train"
}

// sortName is what the second age calls it.
func sortName(w *api.Workload) string {
	switch kind := lifecycle.Kind(w.Kind); {
	case kind.Interactive():
		return "Workspace"
	case kind.Replicated():
		return "Inference"
	case kind.Ranked():
		if fw := cli.Document(w).Framework; fw != "" && fw != "env" {
			return "Distributed (" + fw + ")"
		}
		return "Distributed"
	}
	return "Training"
}

// allocated is what a workload holds, whatever its status: also between two tries
// of what is started again in place.
func allocated(w *api.Workload) string { return amount.GPUs(w.GPUsHeld) }

// gpus is GPUs Allocated (Requested).
func gpus(w *api.Workload) string {
	if cli.Ended(w) {
		return "-"
	}
	return allocated(w) + " (" + amount.GPUs(w.GPUs) + ")"
}

// pods is PODs Running (Pending).
func pods(w *api.Workload) string {
	return fmt.Sprintf("%d (%d)", w.Tasks.Running, waiting(w))
}

func waiting(w *api.Workload) int {
	if cli.Ended(w) {
		return 0
	}
	return max(w.Tasks.Total-w.Tasks.Running-w.Tasks.Succeeded-w.Tasks.Failed-w.Tasks.Stopping, 0)
}

// node is where a job is: <multiple> if on several.
func node(w *api.Workload) string {
	switch nodes := compat.Nodes(compat.Last(w)); len(nodes) {
	case 0:
		return "<none>"
	case 1:
		return nodes[0]
	default:
		return "<multiple>"
	}
}

// url is where a workload can be reached.
func url(w *api.Workload) string {
	if w.Replicas != nil {
		return w.Replicas.URL
	}
	return ""
}

// image is a workload's image; without one it is a process of the machine.
func image(w *api.Workload) string { return cmp.Or(w.Image, cli.Document(w).Image) }
