package slurm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// placement reads where the job may run and how urgent it is.
func (s *script) placement() {
	if d := s.consume("partition"); d != nil {
		s.doc.Slurm.Partition, _, _ = strings.Cut(d.value, ",")
		for name := range strings.SplitSeq(d.value, ",") {
			s.doc.Pools = append(s.doc.Pools, source.NameFrom(name, 52))
		}
		s.record(d, source.Translated, false, "pools", "partitions are node pools here")
	}
	if d := s.consume("qos"); d != nil {
		if p, ok := source.PriorityNamed(d.value); ok {
			s.doc.Priority = p
			s.translated(d, "priority")
		} else {
			s.record(d, source.Ignored, false, "", "what it grants is of the site's own making; where it is to go first, write low, medium, high or a number")
		}
	}
	if d := s.consume("priority"); d != nil {
		s.record(d, source.Ignored, true, "", "numbers of Slurm mean nothing here; write --qos=high or priority in a document")
	}
	s.constraint()
	if d := s.consume("nodelist"); d != nil {
		if names, err := Hostnames(d.value); err != nil {
			s.refuse(d, err.Error(), "write it like n1,n2 or n[1-4]")
		} else {
			s.doc.NodeAffinity = append(s.doc.NodeAffinity, spec.NodeTerm{Key: "kubernetes.io/hostname", Op: "In", Values: names})
			if s.doc.Workers == len(names) || s.doc.Workers == 0 && len(names) == 1 {
				s.translated(d, "nodeAffinity")
			} else {
				s.record(d, source.Approximated, true, "nodeAffinity", "it runs on these nodes only, but not on all of them")
			}
		}
	}
	if d := s.consume("exclude"); d != nil {
		if names, err := Hostnames(d.value); err != nil {
			s.refuse(d, err.Error(), "write it like n1,n2 or n[1-4]")
		} else {
			s.doc.NodeAffinity = append(s.doc.NodeAffinity, spec.NodeTerm{Key: "kubernetes.io/hostname", Op: "NotIn", Values: names})
			s.translated(d, "nodeAffinity")
		}
	}
}

// TimeLimit reads a time limit of Slurm: M, M:S, H:M:S, D-H, D-H:M and
// D-H:M:S; UNLIMITED and 0 are no limit. Limits of Slurm are whole minutes, and
// seconds make one more.
func TimeLimit(text string) (spec.Duration, bool) {
	switch strings.ToUpper(text) {
	case "UNLIMITED", "INFINITE", "-1":
		return 0, true
	}
	days, rest, dayed := strings.Cut(text, "-")
	if !dayed {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	units := []int64{60, 1, 0} // minutes first
	switch {
	case dayed:
		units = []int64{3600, 60, 1}
	case len(parts) == 3:
		units = []int64{3600, 60, 1}
	}
	if len(parts) > 3 {
		return 0, false
	}
	d, err := strconv.ParseInt(days, 10, 32)
	if err != nil || d < 0 || d > 36500 {
		return 0, false
	}
	total := d * 86400
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 32)
		if err != nil || n < 0 {
			return 0, false
		}
		total += n * units[i]
	}
	if total > 100*366*86400 {
		return 0, false
	}
	return spec.Duration((total+59)/60*60) * 1e9, true
}

// ends reads how long it may take and what follows from its end.
func (s *script) ends() {
	if d := s.consume("time"); d != nil {
		t, ok := TimeLimit(d.value)
		switch {
		case !ok:
			s.refuse(d, fmt.Sprintf("%q is not a time", source.Shorten(d.value)), "write minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S")
		case t == 0:
			s.record(d, source.Translated, false, "", "without maxDuration there is no limit")
		default:
			s.doc.MaxDuration = t
			reason := ""
			if !strings.ContainsAny(d.value, ":-") {
				reason = "a bare number is minutes"
			}
			s.record(d, source.Translated, false, "maxDuration", reason)
		}
	}
	if d := s.consume("requeue"); d != nil {
		s.record(d, source.Translated, false, "retry.system", "what the system lost is tried again")
	}
	if d := s.consume("no-requeue"); d != nil {
		none := 0
		s.doc.Retry.System = &none
		s.doc.TerminateAfterPreemption = true
		s.translated(d, "retry.system")
	}
	if d := s.consume("signal"); d != nil {
		if _, name, _, err := spec.ParseSignal(d.value); err == nil && !signalKnown(name) {
			s.refuse(d, fmt.Sprintf("there is no signal %s", source.Shorten(name)), "write it like USR1@90 or B:TERM@120")
		} else if err != nil {
			s.refuse(d, source.ProblemOf(err), source.HintOf(err))
		} else {
			s.doc.Slurm.Signal = d.value
			s.translated(d, "slurm.signal")
		}
	}
	s.dependency(s.consume("dependency"))
	if d := s.consume("begin"); d != nil {
		if at, err := time.Parse("2006-01-02T15:04:05Z07:00", d.value); err == nil {
			s.doc.NotBefore = at.Format(time.RFC3339)
			s.translated(d, "notBefore")
		} else if d.value != "now" {
			s.refuse(d, fmt.Sprintf("%q does not say of which zone it is, or counts from the submission", d.value), "write the time with its zone: 2027-01-31T08:00:00Z")
		} else {
			s.record(d, source.Ignored, false, "", "it is queued at once")
		}
	}
	if d := s.consume("reservation"); d != nil {
		s.doc.Reservation = d.value
		s.translated(d, "reservation")
	}
	if d := s.consume("exclusive"); d != nil {
		s.exclusive(d)
	}
	s.mail()
	if d := s.consume("hold"); d != nil {
		s.doc.Hold = true
		s.translated(d, "hold")
	}
	if d := s.consume("wrap"); d != nil {
		s.refuse(d, "is for the command line of sbatch", "write the command into the script")
	}
}

// signalNames are the signals that sbatch knows by name (sbatch 22.05, --signal).
var signalNames = []string{"HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1", "USR2", "URG", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "XCPU"}

// signalKnown reports whether there is a signal of that name or number.
func signalKnown(name string) bool {
	n, err := strconv.Atoi(name)
	return err == nil && n > 0 && n < 1000 || slices.Contains(signalNames, name)
}

// exclusive reads who may share the nodes: nobody, or the same user.
func (s *script) exclusive(d *directive) {
	switch d.value {
	case "", "exclusive":
		s.doc.Exclusive = "node"
		s.record(d, source.Translated, false, "exclusive", "all CPUs of its nodes are its own")
	case "user":
		s.doc.Exclusive = "user"
		s.record(d, source.Translated, false, "exclusive", "only with others that say the same")
	default:
		s.record(d, source.Ignored, true, "", "only exclusive and user are known here")
	}
}

// depends are the kinds of dependency that a document can say, in its words.
var depends = map[string]string{"after": spec.AfterStarted, "afterany": spec.AfterEnded, "afterok": "", "aftercorr": "", "afternotok": spec.AfterFailed}

// mostDelay is for how many minutes a job may wait after another has started: a
// hundred years.
const mostDelay = 100 * 366 * 24 * 60

// dependency reads what a job waits for: kind:id[:id…], with commas between, or with
// question marks where one of them is enough; after may have minutes behind each id:
// after:17+5.
func (s *script) dependency(d *directive) {
	if d == nil || d.value == "" {
		return
	}
	any := strings.Contains(d.value, "?") // which makes all of them such (sbatch --dependency)
	for _, part := range strings.FieldsFunc(d.value, func(r rune) bool { return r == ',' || r == '?' }) {
		if part == "singleton" {
			if any {
				s.refuse(d, "singleton stands among several of which one is enough", "write commas, or leave singleton out")
				return
			}
			if !s.singleton(d) {
				return
			}
			continue
		}
		kind, ids, _ := strings.Cut(part, ":")
		when, ok := depends[kind]
		if !ok {
			s.refuse(d, fmt.Sprintf("%q is nothing that workloads wait for", kind), "write afterok, afternotok, afterany, aftercorr or after, with ids of jobs")
			return
		}
		for _, id := range strings.Split(ids, ":") {
			after, problem, hint := dependencyOn(kind, id)
			if problem != "" {
				s.refuse(d, problem, hint)
				return
			}
			after.When, after.Any = when, any
			after.PerTask = kind == "aftercorr" && s.doc.Array != nil && after.Tasks == "" && !any
			s.doc.After = append(s.doc.After, after)
		}
	}
	switch {
	case !s.doc.Slurm.Singleton:
		s.translated(d, "after")
	case len(s.doc.After) == 0:
		s.translated(d, "slurm.singleton")
	default:
		s.translated(d, "after, slurm.singleton")
	}
}

// dependencyOn reads one job that others wait for: 17, 17_3 or 17_[1-3], an array's
// tasks, 17_*, all of them, and behind after 17+5.
func dependencyOn(kind, text string) (a spec.Dependency, problem, hint string) {
	id, delay, delayed := strings.Cut(text, "+")
	number, tasks, some := strings.Cut(id, "_")
	tasks = strings.TrimSuffix(strings.TrimPrefix(tasks, "["), "]")
	if n, err := strconv.ParseInt(number, 10, 64); err != nil || n < 1 {
		return a, fmt.Sprintf("%q is not the id of a job", source.Shorten(id)), "write the number that sbatch has printed, or 12_3 for a task of an array"
	}
	a.Workload = number
	if some && tasks != "*" {
		if _, err := spec.ParseIndexes(tasks); err != nil {
			return a, fmt.Sprintf("%q is not the id of a task of an array", source.Shorten(id)), "write it like 12_3 or 12_[1-3]"
		}
		a.Tasks = tasks
	}
	if delayed {
		minutes, err := strconv.ParseUint(delay, 10, 31)
		if err != nil || kind != "after" || minutes > mostDelay {
			return a, fmt.Sprintf("%q is not a delay: minutes stand behind the ids of after alone, at most %d", "+"+source.Shorten(delay), mostDelay), "write after:" + id + "+MINUTES"
		}
		a.Delay = spec.Duration(time.Duration(minutes) * time.Minute)
	}
	return a, "", ""
}

// singleton waits for the jobs of that name which the submitter has by then
// (slurm.schedmd.com/sbatch.html, --dependency): the jobs of an array for each other.
func (s *script) singleton(d *directive) bool {
	if s.doc.Slurm.Name == "" && s.sub.Name == "" {
		s.refuse(d, "singleton waits for jobs of the same name, and there is none", "write --job-name")
		return false
	}
	s.doc.Slurm.Singleton = true
	if s.doc.Array != nil {
		s.doc.Array.Parallelism = 1
	}
	return true
}

// container reads the options of pyxis.
func (s *script) container() {
	d := s.consume("container-image")
	if d == nil {
		for _, name := range []string{"container-mounts", "container-workdir"} {
			if d := s.consume(name); d != nil {
				s.refuse(d, "is for --container-image, which is missing", "write it, or remove this")
			}
		}
		return
	}
	image := strings.TrimPrefix(strings.TrimPrefix(d.value, "docker://"), "dockerd://")
	if strings.HasSuffix(image, ".sqsh") || strings.HasPrefix(image, "/") || strings.HasPrefix(image, "./") {
		s.refuse(d, "is a file of squashfs", "write the image that it was made of, such as docker://nvcr.io#nvidia/pytorch:24.10-py3")
		return
	}
	s.doc.Image = strings.Replace(image, "#", "/", 1)
	s.translated(d, "image")
	if d := s.consume("container-workdir"); d != nil {
		s.doc.Workdir = d.value
		s.translated(d, "workdir")
	}
	if d := s.consume("container-mounts"); d != nil {
		for mount := range strings.SplitSeq(d.value, ",") {
			parts := strings.Split(mount, ":")
			v := spec.Volume{HostPath: parts[0], Path: parts[0]}
			if len(parts) > 1 {
				v.Path = parts[1]
			}
			if len(parts) > 2 {
				v.ReadOnly = strings.Contains("+"+parts[2]+"+", "+ro+")
			}
			s.doc.Volumes = append(s.doc.Volumes, v)
		}
		s.translated(d, "volumes")
	}
}

// maxHosts bounds what a list of hosts may stand for.
const maxHosts = 100_000

// Hostnames are the names that a list of Slurm stands for: n1,n[3-5,08].
func Hostnames(text string) ([]string, error) {
	var all []string
	for text != "" {
		end, depth := len(text), 0
		for i, c := range text {
			if c == '[' {
				depth++
			} else if c == ']' {
				depth--
			} else if c == ',' && depth == 0 {
				end = i
				break
			}
		}
		part := text[:end]
		text = strings.TrimPrefix(text[end:], ",")
		names, err := hostRange(part)
		if err != nil {
			return nil, err
		}
		if all = append(all, names...); len(all) > maxHosts {
			return nil, fmt.Errorf("stands for more than %d hosts", maxHosts)
		}
	}
	return all, nil
}

// hostRange expands the first brackets of one name, and then those behind.
func hostRange(part string) ([]string, error) {
	head, rest, has := strings.Cut(part, "[")
	if !has {
		if part == "" || strings.Contains(part, "]") {
			return nil, fmt.Errorf("%q is not a host", source.Shorten(part))
		}
		return []string{part}, nil
	}
	inside, tail, closed := strings.Cut(rest, "]")
	if !closed || strings.Count(tail, "[") > 2 {
		return nil, fmt.Errorf("%q has a bracket that is not closed", source.Shorten(part))
	}
	tails := []string{tail}
	if strings.Contains(tail, "[") {
		var err error
		if tails, err = hostRange(tail); err != nil {
			return nil, err
		}
	}
	var all []string
	for item := range strings.SplitSeq(inside, ",") {
		from, to, ranged := strings.Cut(item, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b-a >= maxHosts {
			return nil, fmt.Errorf("%q is not a range of numbers", source.Shorten(item))
		}
		for n := a; n <= b; n++ {
			for _, t := range tails {
				all = append(all, fmt.Sprintf("%s%0*d%s", head, len(from), n, t))
			}
		}
		if len(all) > maxHosts {
			return nil, fmt.Errorf("stands for more than %d hosts", maxHosts)
		}
	}
	return all, nil
}
