package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// shape is how many nodes a job has, what is on each, on the first where that is another
// number, and how many GPUs that follows from its tasks.
type shape struct{ nodes, tasks, perNode, first, gpus int }

// shape reads --nodes, --ntasks, --ntasks-per-node and --ntasks-per-gpu, which must
// agree.
func (s *script) shape() (sh shape, ok bool) {
	sh.nodes = 1
	nd := s.consume("nodes")
	if nd != nil {
		if sh.nodes, ok = s.nodes(nd); !ok {
			return sh, false
		}
	}
	listed := s.listed()
	if nd == nil && listed > 1 { // a list of nodes is as many nodes
		nd, sh.nodes = s.opts["nodelist"], listed
	}
	td, tasks := s.number("ntasks")
	pd, per := s.number("ntasks-per-node")
	gd, perGPU := s.number("ntasks-per-gpu")
	total := s.givenGPUs(sh.nodes)
	if td == nil && pd == nil && gd != nil {
		if tasks = perGPU * total; tasks == 0 {
			s.refuse(gd, fmt.Sprintf("%d tasks for each GPU, and neither GPUs nor tasks are said", perGPU), "write --gpus or --ntasks as well")
			return sh, false
		}
	}
	if td == nil && pd == nil && gd == nil {
		if tasks, ok = s.tasksOfGPUs(total); !ok {
			return sh, false
		}
	}
	if nd == nil && pd == nil && tasks > 0 {
		sh.nodes = max(sh.nodes, s.nodesOfGPUs(tasks))
	}
	switch {
	case pd != nil && td != nil && s.opts["nodes"] == nil:
		sh.nodes = max((tasks+per-1)/per, min(listed, tasks))
	case pd != nil && td != nil && tasks > per*sh.nodes:
		s.refuse(td, fmt.Sprintf("%d tasks do not fit on %d nodes of %d", tasks, sh.nodes, per), "make them agree")
		return sh, false
	case tasks > 0 && tasks < sh.nodes: // sbatch says so, and goes on with fewer nodes
		sh.nodes = tasks
		s.record(nd, source.Approximated, false, "workers", fmt.Sprintf("%d tasks run on %d nodes, as under Slurm", tasks, tasks))
	}
	if nd == nil && pd == nil && total == 0 {
		sh.nodes = s.spread(td, tasks)
	}
	counted := tasks > 0 || per > 0
	switch {
	case tasks == 0 && per > 0:
		tasks = per * sh.nodes
	case tasks == 0:
		tasks = sh.nodes
	}
	sh.tasks, sh.perNode = tasks, (tasks+sh.nodes-1)/sh.nodes
	if per > 0 { // it is the most of a node, and each node has one at least
		sh.perNode = min(per, tasks-sh.nodes+1)
	}
	sh.first = sh.perNode
	if per == 0 {
		s.filled(td, &sh)
	}
	if counted {
		s.doc.Slurm.Tasks = tasks
	}
	s.doc.Slurm.TasksPerNode = per
	s.translated(td, "slurm.tasks")
	s.translated(pd, "slurm.tasksPerNode")
	s.perGPU(gd, perGPU, total, &sh)
	if sh.nodes > 1 {
		s.doc.Kind, s.doc.Workers, s.doc.CleanPolicy = lifecycle.Distributed, sh.nodes, "running"
	}
	return sh, true
}

// tasksOfGPUs is how many tasks --gpus and --gpus-per-task make where nothing else says
// it; 0: they do not.
func (s *script) tasksOfGPUs(total int) (tasks int, ok bool) {
	all, each := s.opts["gpus"], s.opts["gpus-per-task"]
	if all == nil || each == nil {
		return 0, true
	}
	_, n, read := gpuAmount(each.value)
	if !read || n < 1 {
		return 0, true // refused where it is read
	}
	if total%n != 0 {
		s.refuse(all, fmt.Sprintf("%d GPUs are no multiple of the %d of --gpus-per-task", total, n), "make them agree")
		return 0, false
	}
	return total / n, true
}

// nodesOfGPUs is how many nodes so many tasks need that have GPUs each, where it is said
// how many a node has; 1: nothing says it.
func (s *script) nodesOfGPUs(tasks int) int {
	node, each := s.opts["gpus-per-node"], s.opts["gpus-per-task"]
	if node == nil || each == nil {
		return 1
	}
	_, has, read := gpuAmount(node.value)
	_, n, also := gpuAmount(each.value)
	if !read || !also || n < 1 || has < n || tasks*n%has != 0 {
		return 1
	}
	return tasks * n / has
}

// listed is how many nodes --nodelist names; what is wrong with it is found later.
func (s *script) listed() int {
	d := s.opts["nodelist"]
	if d == nil {
		return 0
	}
	names, err := Hostnames(d.value)
	if err != nil {
		return 0
	}
	return len(names)
}

// spread is how many nodes so many tasks need that are not said to be on one: as Slurm
// does, where the largest node has not so many CPUs.
func (s *script) spread(d *directive, tasks int) int {
	on := s.roomOfLargest()
	if on < 1 || tasks <= on || s.opts["gpus-per-task"] != nil {
		return 1
	}
	nodes := (tasks + on - 1) / on
	s.record(d, source.Translated, false, "workers", fmt.Sprintf("no node has so many CPUs: %d tasks are spread over %d nodes, as under Slurm", tasks, nodes))
	return nodes
}

// filled lays tasks of several nodes out as Slurm does where nothing says how many are on
// each: as many as can be on the first, and one at least on every other. Nodes of one's
// own, and such as have GPUs for each task, have as many each.
func (s *script) filled(d *directive, sh *shape) {
	if sh.nodes < 2 || sh.tasks == sh.nodes || s.opts["exclusive"] != nil || s.opts["gpus-per-task"] != nil || s.opts["ntasks-per-gpu"] != nil || s.opts["cpus-per-gpu"] != nil ||
		s.opts["ntasks-per-socket"] != nil || s.opts["mincpus"] != nil || s.opts["overcommit"] != nil {
		return
	}
	most := sh.tasks
	if on := s.roomOfLargest(); on > 0 {
		most = on
	}
	counts := spec.SlurmFill(sh.tasks, most, sh.nodes)
	rest := counts[1:]
	if left := sh.tasks - sum(counts); left > 0 || slices.Min(rest) != slices.Max(rest) {
		s.record(d, source.Approximated, false, "resources.cpu", fmt.Sprintf("its tasks are divided evenly: SLURM_TASKS_PER_NODE, SLURM_JOB_CPUS_PER_NODE and SLURM_CPUS_ON_NODE may say other numbers than Slurm, which fills nodes (%s)", spec.SlurmPerNode(counts)))
		return
	}
	sh.first, sh.perNode = counts[0], rest[0]
}

func sum(all []int) (n int) {
	for _, x := range all {
		n += x
	}
	return n
}

// roomOfLargest is how many tasks the largest node has CPUs for; 0: nobody knows, or they
// are not so many.
func (s *script) roomOfLargest() int {
	each := 1
	if c := s.opts["cpus-per-task"]; c != nil {
		each, _ = strconv.Atoi(c.value)
	}
	if s.sub.Largest == nil || each < 1 {
		return 0
	}
	pool := ""
	if p := s.opts["partition"]; p != nil {
		pool = p.value
	}
	return s.sub.Largest(pool) / each
}

// perGPU is what --ntasks-per-gpu says beside --ntasks: GPUs where none are said
// otherwise, and nothing where some are.
func (s *script) perGPU(d *directive, per, given int, sh *shape) {
	switch {
	case d == nil:
	case given > 0 && s.opts["ntasks"] == nil && s.opts["ntasks-per-node"] == nil && s.opts["cpus-per-task"] != nil && s.opts["exclusive"] == nil:
		s.record(d, source.Approximated, false, "slurm.tasks", "SLURM_CPUS_ON_NODE and SLURM_JOB_CPUS_PER_NODE are those of all its tasks, where Slurm up to 22.05 gives what one asks for")
	case given > 0 && s.opts["ntasks"] == nil && s.opts["ntasks-per-node"] == nil:
		s.translated(d, "slurm.tasks")
	case given > 0 || s.opts["gpus-per-task"] != nil:
		s.record(d, source.Ignored, false, "", "--ntasks says how many there are")
	default:
		sh.gpus = (sh.perNode + per - 1) / per
		s.record(d, source.Translated, false, "resources.gpu", "as many GPUs as its tasks need")
	}
}

// givenGPUs are the GPUs of all nodes that --gpus, --gpus-per-node and --gres say
// together; 0 where they say none. What is wrong with them is found by gpus.
func (s *script) givenGPUs(nodes int) (total int) {
	if d := s.opts["gpus"]; d != nil {
		if _, n, ok := gpuAmount(d.value); ok {
			return n
		}
	}
	if d := s.opts["gpus-per-node"]; d != nil {
		if _, n, ok := gpuAmount(d.value); ok {
			return n * nodes
		}
	}
	if d := s.opts["gres"]; d != nil {
		for part := range strings.SplitSeq(d.value, ",") {
			rest, is := strings.CutPrefix(strings.TrimPrefix(part, "gres:"), "gpu")
			if !is || rest != "" && rest[0] != ':' {
				continue
			}
			n, ok := 1, true
			if rest != "" {
				_, n, ok = gpuAmount(rest[1:])
			}
			if ok {
				total += n * nodes
			}
		}
	}
	return min(total, 1_000_000)
}

// nodes reads --nodes, of which the fewest count.
func (s *script) nodes(d *directive) (int, bool) {
	least, most, ranged := strings.Cut(d.value, "-")
	n, ok := kilo(least)
	if ranged && ok {
		var m int
		if m, ok = kilo(most); ok && m < n {
			ok = false
		}
		if ok && m > n {
			s.record(d, source.Approximated, true, "workers", "the fewest are taken, where Slurm takes as many as are free: SLURM_NNODES, SLURM_JOB_NUM_NODES, SLURM_TASKS_PER_NODE, SLURM_CPUS_ON_NODE and SLURM_JOB_CPUS_PER_NODE say so")
			return n, true
		}
	}
	if !ok {
		s.refuse(d, fmt.Sprintf("%q is not a number of nodes", source.Shorten(d.value)), "write it like 4 or 2-4")
		return 0, false
	}
	s.translated(d, "workers")
	return n, true
}

func kilo(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 100_000
}
