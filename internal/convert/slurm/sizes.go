package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// number is the value of an option that is a whole number from 1.
func (s *script) number(name string) (d *directive, n int) {
	if d = s.consume(name); d == nil {
		return nil, 0
	}
	n, err := strconv.Atoi(d.value)
	if err != nil || n < 1 || n > 1_000_000 {
		s.refuse(d, fmt.Sprintf("%q is not a number from 1", source.Shorten(d.value)), "write a whole number")
		return nil, 0
	}
	return d, n
}

// sizes reads how large the job is: nodes become tasks of a gang, processes
// what srun starts.
func (s *script) sizes() {
	sh, ok := s.shape()
	if !ok {
		return
	}
	cd, cpus := s.number("cpus-per-task")
	gpu, ok := s.gpus(sh)
	if !ok {
		return
	}
	if gpu.Count == 0 {
		gpu.Count = sh.gpus
	}
	s.doc.Resources.GPU = gpu
	cores := max(cpus, 1) * sh.perNode
	if s.opts["overcommit"] != nil { // a node has one process's CPUs, and those of one's own all of theirs
		cores = max(cpus, 1)
	}
	if d, n := s.number("mincpus"); d != nil {
		if cpus <= 1 { // beside more for each task it changes nothing (slurmctld 22.05.8)
			cores = max(cores, n)
		}
		s.translated(d, "resources.cpu")
	}
	if d, n := s.number("cpus-per-gpu"); d != nil {
		if gpu.Count == 0 {
			s.refuse(d, "there are no GPUs", "remove it, or ask for GPUs")
			return
		}
		if cd != nil {
			s.refuse(d, "stands beside --cpus-per-task", "keep one of the two")
			return
		}
		cores = n * gpu.Count
		s.translated(d, "resources.cpu")
	}
	s.doc.Resources.CPU = spec.Quantity(cores) * 1000
	if cd != nil {
		s.doc.Slurm.CPUsPerTask = cpus
		s.translated(cd, "resources.cpu")
	}
	s.memory(cores, gpu.Count)
	if sh.first != sh.perNode {
		first := s.doc.Resources
		first.CPU = spec.Quantity(max(cpus, 1)*sh.first) * 1000
		if s.opts["mem-per-cpu"] != nil {
			first.Memory = first.Memory / spec.Quantity(sh.perNode) * spec.Quantity(sh.first)
		}
		s.doc.Master = &spec.Master{Resources: &first}
	}
	s.array(sh)
}

// gpuAmount reads [[gpu:]TYPE:]N.
func gpuAmount(text string) (kind string, n int, ok bool) {
	kind, count, typed := cutLast(text, ":")
	if !typed {
		kind, count = "", text
	}
	if i := strings.IndexByte(count, '('); i >= 0 {
		count = count[:i]
	}
	n, err := strconv.Atoi(count)
	if err != nil && !typed { // a type alone is one of it
		return text, 1, text != ""
	}
	return kind, n, err == nil && n >= 0 && n <= 1024*1024
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// gpus reads the GPUs of each node. However often they are said, it must be
// the same.
func (s *script) gpus(sh shape) (g spec.GPU, ok bool) {
	var by *directive
	ok = true
	say := func(d *directive, kind string, n int) {
		switch {
		case by != nil && n != g.Count:
			s.refuse(d, fmt.Sprintf("makes %d GPUs on each node, and --%s %d", n, by.name, g.Count), "make them agree")
			ok = false
		case by != nil && kind != "" && g.Type != "" && kind != g.Type:
			s.refuse(d, fmt.Sprintf("asks for %s, and --%s for %s", source.Shorten(kind), by.name, source.Shorten(g.Type)), "make them agree")
			ok = false
		default:
			g.Count, by = n, d
			if kind != "" {
				g.Type = kind
			}
			s.translated(d, "resources.gpu")
		}
	}
	amount := func(name string, each func(d *directive, n int) (int, bool)) {
		d := s.consume(name)
		if d == nil || !ok {
			return
		}
		kind, n, read := gpuAmount(d.value)
		if !read || strings.ContainsAny(d.value, ", ") {
			s.refuse(d, fmt.Sprintf("%q is not a number of GPUs", source.Shorten(d.value)), "write it like 4 or a100:4")
			ok = false
			return
		}
		if n, read = each(d, n); read {
			say(d, kind, n)
		} else {
			ok = false
		}
	}
	s.gres(say, &ok)
	amount("gpus-per-node", func(_ *directive, n int) (int, bool) { return n, true })
	amount("gpus-per-task", func(d *directive, n int) (int, bool) {
		if sh.tasks%sh.nodes != 0 {
			s.refuse(d, fmt.Sprintf("%d tasks are not divided evenly among %d nodes", sh.tasks, sh.nodes), "write --ntasks-per-node")
			return 0, false
		}
		return n * (sh.tasks / sh.nodes), true
	})
	amount("gpus", func(d *directive, n int) (int, bool) {
		if n%sh.nodes != 0 {
			s.refuse(d, fmt.Sprintf("%d GPUs are not divided evenly among %d nodes", n, sh.nodes), "write --gpus-per-node")
			return 0, false
		}
		return n / sh.nodes, true
	})
	if g.Count == 0 {
		g.Type = ""
	}
	return g, ok
}

// gres reads --gres and --tres-per-task, which may name other things beside
// GPUs.
func (s *script) gres(say func(d *directive, kind string, n int), ok *bool) {
	if d := s.consume("tres-per-task"); d != nil {
		s.refuse(d, "is not taken", "write --gpus-per-task and --cpus-per-task")
		*ok = false
	}
	d := s.consume("gres")
	if d == nil || !*ok {
		return
	}
	if d.value == "none" {
		s.translated(d, "resources.gpu")
		return
	}
	var others []string
	kind, total, found := "", 0, false
	for part := range strings.SplitSeq(d.value, ",") {
		rest, is := strings.CutPrefix(strings.TrimPrefix(part, "gres:"), "gpu")
		rest, amounted := strings.CutPrefix(rest, ":")
		if !is || rest != "" && !amounted {
			others = append(others, part)
			continue
		}
		n, read := 1, true
		k := ""
		if rest != "" {
			k, n, read = gpuAmount(rest)
		}
		if !read {
			s.refuse(d, fmt.Sprintf("%q is not a number of GPUs", source.Shorten(part)), "write it like gpu:4 or gpu:a100:4")
			*ok = false
			return
		}
		if found && k != kind {
			s.refuse(d, "asks for GPUs of two types", "ask for one")
			*ok = false
			return
		}
		kind, total, found = k, total+n, true
	}
	if found {
		say(d, kind, total)
	}
	if len(others) > 0 {
		s.record(d, source.Approximated, true, "resources.gpu", strings.Join(others, ", ")+" is not counted here")
	}
}

// Memory reads an amount of memory as options of sbatch have it.
func Memory(text string) (spec.Quantity, bool) { return memoryOf(text) }

// memoryOf reads an amount of memory, which is in MB where it has no unit,
// in powers of 1024.
func memoryOf(text string) (spec.Quantity, bool) {
	unit := int64(1) << 20
	if text == "" {
		return 0, false
	}
	if n := len(text) - 1; n > 0 && (text[n] == 'B' || text[n] == 'b') && strings.IndexByte("KkMmGgTt", text[n-1]) >= 0 {
		text = text[:n] // 3gb is 3g
	}
	switch text[len(text)-1] {
	case 'K', 'k':
		unit, text = 1<<10, text[:len(text)-1]
	case 'M', 'm':
		text = text[:len(text)-1]
	case 'G', 'g':
		unit, text = 1<<30, text[:len(text)-1]
	case 'T', 't':
		unit, text = 1<<40, text[:len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<50)/unit {
		return 0, false
	}
	return spec.Quantity(n*unit) * 1000, true
}

// memory reads the memory of each node.
func (s *script) memory(cores, gpus int) {
	var by *directive
	for _, o := range []struct {
		name string
		each int
	}{{"mem", 1}, {"mem-per-cpu", cores}, {"mem-per-gpu", gpus}} {
		d := s.consume(o.name)
		if d == nil {
			continue
		}
		q, ok := memoryOf(d.value)
		switch {
		case !ok:
			s.refuse(d, fmt.Sprintf("%q is not an amount of memory", source.Shorten(d.value)), "write megabytes, or a number with K, M, G or T")
		case by != nil:
			s.refuse(d, "stands beside --"+by.name, "keep one of the two")
		case q == 0 && o.name == "mem":
			if s.opts["exclusive"] != nil {
				s.record(d, source.Translated, false, "exclusive", "all memory of the node is its own")
			} else {
				s.record(d, source.Approximated, true, "", "memory is neither counted nor limited; write how much")
			}
		case o.each == 0:
			s.refuse(d, "there are no GPUs", "remove it, or ask for GPUs")
		case int64(q) > (1<<62)/int64(o.each):
			s.refuse(d, "is more than any node has", "")
		default:
			s.doc.Resources.Memory = q * spec.Quantity(o.each)
			reason := "powers of 1024"
			if c := d.value[len(d.value)-1]; c >= '0' && c <= '9' {
				reason = "it is in MB: powers of 1024"
			}
			s.record(d, source.Translated, false, "resources.memory", reason)
		}
		by = d
	}
}

// mostJobs bounds how many workloads an array of jobs of several nodes becomes.
const mostJobs = 1000

// someOf are indexes for a loop of a shell, at most eight.
func someOf(all []int) string {
	var words []string
	for _, n := range all[:min(len(all), 8)] {
		words = append(words, strconv.Itoa(n))
	}
	if len(all) > 8 {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

// indexes are those of an array without the brackets that Slurm takes about them,
// and how many run at once, which stands in the brackets or behind them.
func indexes(value string) (text, limit string, limited bool) {
	text, limit, limited = strings.Cut(value, "%")
	inner, open := strings.CutPrefix(text, "[")
	if !open {
		return text, limit, limited
	}
	if whole, closed := strings.CutSuffix(inner, "]"); closed {
		return whole, limit, limited
	}
	if within, closed := strings.CutSuffix(limit, "]"); closed {
		return inner, within, limited
	}
	return text, limit, limited
}

// array reads --array: a task for each index.
func (s *script) array(sh shape) {
	d := s.consume("array")
	if d == nil {
		return
	}
	text, limit, limited := indexes(d.value)
	all, err := spec.ParseIndexes(text)
	if err != nil {
		s.refuse(d, source.ProblemOf(err), source.HintOf(err))
		return
	}
	a := &spec.Array{Completions: len(all)}
	if limited {
		// Slurm reads as far as there are digits, and none are no limit.
		digits := limit[:len(limit)-len(strings.TrimLeft(limit, "0123456789"))]
		n, _ := strconv.Atoi(digits[:min(len(digits), 9)])
		if digits != limit || n < 1 {
			s.r.Note(source.Note{Line: d.line, Field: "--array", Value: d.value, Fate: source.Approximated, To: "array.parallelism", Reason: fmt.Sprintf("%q is not how many run at once: Slurm reads it as %d, and 0 is no limit", source.Shorten(limit), n)})
		}
		if n > 0 {
			a.Parallelism = min(n, len(all))
		}
	}
	if sh.nodes > 1 {
		if len(all) > mostJobs {
			s.refuse(d, fmt.Sprintf("has %d jobs of %d nodes, and each becomes a workload, at most %d of one script", len(all), sh.nodes, mostJobs),
				"submit it in parts: for i in "+someOf(all)+"; do sbatch --array=$i SCRIPT; done")
			return
		}
		s.doc.Slurm.Indexes, s.jobs = text, len(all)
		if a.Parallelism < len(all) {
			s.doc.Slurm.AtOnce = a.Parallelism
		}
		s.record(d, source.Translated, false, "slurm.arrayTask", fmt.Sprintf("each of its %d jobs has %d nodes and is a workload of its own; they have numbers one after another, of which the last is the array's", len(all), sh.nodes))
		return
	}
	s.doc.Array = a
	for i, n := range all {
		if i != n {
			s.doc.Slurm.Indexes = text
			break
		}
	}
	s.translated(d, "array")
}
