package slurmtools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
)

// part is what a step holds of a node.
type part struct {
	CPUs int   `json:"cpus"`
	GPUs []int `json:"gpus,omitempty"` // places in the list of the node's devices
}

// held is what a step holds, by the numbers of nodes.
type held struct {
	PID   int          `json:"pid"` // of its srun
	Parts map[int]part `json:"parts"`
}

// room is what steps have left of the job's nodes.
type room struct {
	cpus []int // of each node; none: nobody knows, and there is room for everything
	gpus int   // of each node
	held []held
}

// free are the CPUs and GPUs of a node that no step holds.
func (r *room) free(at int) (cpus int, gpus []int) {
	cpus = r.whole(at)
	taken := map[int]bool{}
	for _, h := range r.held {
		p := h.Parts[at]
		cpus -= p.CPUs
		for _, g := range p.GPUs {
			taken[g] = true
		}
	}
	for g := range r.gpus {
		if !taken[g] {
			gpus = append(gpus, g)
		}
	}
	return max(cpus, 0), gpus
}

// whole are all CPUs that the job has of a node.
func (r *room) whole(at int) int {
	if at < len(r.cpus) && r.cpus[at] > 0 {
		return r.cpus[at]
	}
	return anyNumber
}

// space is what the nodes have for processes of o; where it does not wait, for as many as if
// no other step ran.
func (r *room) space(o *options, nodes int, waits bool) space {
	each := max(o.cpus, 1)
	var s space
	for at := range nodes {
		free, _ := r.free(at)
		if !waits {
			free = r.whole(at)
		}
		s.whole, s.free = append(s.whole, r.whole(at)/each), append(s.free, free/each)
	}
	s.gpus = func(at, processes, nodes int) bool {
		_, free := r.free(at)
		return !waits || len(free) >= min(o.gpusOn(processes, nodes), r.gpus)
	}
	return s
}

const (
	roomFiles = "room-*"
	roomLock  = "room.lock"
)

// lookFirst and lookMost are how often a step that waits looks whether there is room.
const (
	lookFirst = 20 * time.Millisecond
	lookMost  = 500 * time.Millisecond
)

// place puts the step's processes on nodes that have room for them, and waits until
// there are such: under Slurm steps of a job share no CPUs, unless they --overlap. A
// step of a step does not wait, as it would for the one that started it.
func (s *step) place(dir string, hosts []string) error {
	waits := !s.o.overlap && os.Getenv("SLURM_OVERLAP") == "" && os.Getenv("SLURM_STEP_ID") == ""
	waiting := false
	for pause := lookFirst; ; pause = min(2*pause, lookMost) {
		ok, err := s.tryPlace(dir, hosts, waits)
		if err != nil || ok {
			if ok && waiting {
				fmt.Fprintf(os.Stderr, "srun: Step created for job %s\n", os.Getenv("SLURM_JOB_ID"))
			}
			return err
		}
		if !waiting {
			fmt.Fprintf(os.Stderr, "srun: Job %s step creation temporarily disabled, retrying (Requested nodes are busy)\n", os.Getenv("SLURM_JOB_ID"))
			waiting = true
		}
		time.Sleep(pause)
	}
}

// tryPlace reports whether there was room, which the step then holds.
func (s *step) tryPlace(dir string, hosts []string, waits bool) (ok bool, err error) {
	lock, err := os.OpenFile(filepath.Join(dir, roomLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return false, err
	}
	r := roomOf(dir)
	o := s.o // a layout fills in what it was not told
	s.ranks, s.hosts, err = o.layout(hosts, r.space(&o, len(hosts), waits))
	s.o.warned = true
	if err != nil || s.ranks == nil {
		return false, err
	}
	h := held{PID: os.Getpid(), Parts: map[int]part{}}
	for _, x := range s.ranks {
		p := h.Parts[x.at]
		p.CPUs += max(o.cpus, 1)
		h.Parts[x.at] = p
	}
	counts := map[int]int{}
	for _, x := range s.ranks {
		counts[x.at]++
	}
	for at, p := range h.Parts {
		_, free := r.free(at)
		if n := o.gpusOn(counts[at], len(s.hosts)); n > 0 {
			p.GPUs = free[:min(n, len(free))]
		}
		if !waits {
			p.CPUs = 0
		}
		h.Parts[at] = p
	}
	s.parts = h.Parts
	data, err := json.Marshal(h)
	if err != nil {
		return false, err
	}
	s.roomFile = filepath.Join(dir, "room-"+strconv.Itoa(os.Getpid()))
	return true, os.WriteFile(s.roomFile, data, 0o600)
}

// roomOf reads what the steps that run hold. Of what was killed nothing is held.
func roomOf(dir string) *room {
	r := &room{}
	r.cpus = spec.SlurmAmounts(os.Getenv("SLURM_JOB_CPUS_PER_NODE"))
	r.gpus, _ = strconv.Atoi(os.Getenv("SLURM_GPUS_ON_NODE"))
	files, _ := filepath.Glob(filepath.Join(dir, roomFiles))
	for _, f := range files {
		var h held
		data, err := os.ReadFile(f)
		if err != nil || json.Unmarshal(data, &h) != nil {
			continue
		}
		if errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH) {
			_ = os.Remove(f)
			continue
		}
		r.held = append(r.held, h)
	}
	return r
}

// gpusOn is how many GPUs a step asks for of a node, on which so many of its processes
// are; 0: it says nothing of GPUs, and has all of them.
func (o *options) gpusOn(processes, nodes int) int {
	switch {
	case o.gpus > 0:
		return o.gpus * processes
	case o.nodeGPUs > 0:
		return o.nodeGPUs
	case o.allGPUs > 0:
		return (o.allGPUs + nodes - 1) / max(nodes, 1)
	}
	return 0
}

// setGPUs reads --gpus, --gpus-per-node and --gres, as far as that is about GPUs.
func (o *options) setGPUs(name, value string) error {
	for word := range strings.SplitSeq(value, ",") {
		parts := strings.Split(strings.TrimPrefix(word, "gres:"), ":")
		if name == "gres" {
			if parts[0] != "gpu" {
				continue
			}
			parts = parts[1:]
		}
		n := 1
		if len(parts) > 0 {
			last, _, _ := strings.Cut(parts[len(parts)-1], "(")
			var err error
			if n, err = strconv.Atoi(last); err != nil && name != "gres" || n < 0 || n > 1_000_000 {
				return fmt.Errorf("--%s: %q is not a number of GPUs", name, value)
			}
			if err != nil { // a type alone is one of them
				n = 1
			}
		}
		if name == "gpus" {
			o.allGPUs += n
		} else {
			o.nodeGPUs += n
		}
	}
	return nil
}
