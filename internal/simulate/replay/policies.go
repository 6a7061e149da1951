package replay

import (
	"cmp"
	"fmt"
	"strings"
)

// Options are what some policies need beside the jobs.
type Options struct {
	// Seed draws the estimates of easy-user.
	Seed uint64
	// Quota is the GPUs of each project, for the quota policies; none: 0.
	Quota map[string]int
	// Checkpoint is how many seconds of work a job loses at most that has to leave,
	// for the Tiresias policies; 0: a minute, negative: all since its start.
	Checkpoint int64
}

func (o Options) checkpoint() int64 { return cmp.Or(o.Checkpoint, checkpointSeconds) }

// reference lists the policies by name, in the order in which they are shown.
var reference = []struct {
	name string
	make func(Options) Policy
}{
	{"fifo", func(Options) Policy { return &fifo{} }},
	{"skip", func(Options) Policy { return &skip{} }},
	{"easy-perfect", func(Options) Policy { return &easy{guess: Perfect{}} }},
	{"easy-user", func(o Options) Policy { return &easy{guess: User{Seed: o.Seed}} }},
	{"easy-learnt", func(Options) Policy { return &easy{guess: NewLearnt()} }},
	{"conservative", func(Options) Policy { return &conservative{} }},
	{"sjf", func(Options) Policy { return &skip{shortest: true} }},
	{"srtf", func(Options) Policy { return &srtf{} }},
	{"las", func(Options) Policy { return &las{} }},
	{"sjf-learnt", func(Options) Policy { return &shortest{} }},
	{"qssf", func(Options) Policy { return &shortest{area: true} }},
	{"tiresias-2", func(o Options) Policy { return &tiresias{levels: 2, checkpoint: o.checkpoint()} }},
	{"tiresias-3", func(o Options) Policy { return &tiresias{levels: 3, checkpoint: o.checkpoint()} }},
	{"tiresias-4", func(o Options) Policy { return &tiresias{levels: 4, checkpoint: o.checkpoint()} }},
	{"quota-restart", func(o Options) Policy { return &quota{limits: o.Quota, restart: true} }},
	{"quota-checkpoint", func(o Options) Policy { return &quota{limits: o.Quota} }},
}

// Names lists the reference policies.
func Names() []string {
	var names []string
	for _, p := range reference {
		names = append(names, p.name)
	}
	return names
}

// New makes a reference policy for one run. It returns an error for a name
// that is not among Names.
func New(name string, o Options) (Policy, error) {
	for _, p := range reference {
		if p.name == name {
			return p.make(o), nil
		}
	}
	return nil, fmt.Errorf("replay: policy %q: want one of %s", name, strings.Join(Names(), ", "))
}
