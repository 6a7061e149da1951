package slurm

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
)

// shortOptions are the options of one letter (man sbatch).
var shortOptions = map[byte]string{
	'A': "account", 'a': "array", 'b': "begin", 'B': "extra-node-info", 'C': "constraint", 'c': "cpus-per-task", 'D': "chdir", 'd': "dependency", 'e': "error",
	'F': "nodefile", 'G': "gpus", 'H': "hold", 'i': "input", 'J': "job-name", 'k': "no-kill", 'L': "licenses", 'm': "distribution", 'M': "clusters", 'N': "nodes", 'n': "ntasks",
	'o': "output", 'O': "overcommit", 'p': "partition", 'Q': "quiet", 'q': "qos", 's': "oversubscribe", 'S': "core-spec", 't': "time", 'v': "verbose", 'W': "wait", 'w': "nodelist", 'x': "exclude",
}

// options are all options of sbatch.
var options = map[string]source.Arity{
	"account": source.OneValue, "acctg-freq": source.OneValue, "array": source.OneValue, "batch": source.OneValue, "bb": source.OneValue, "bbf": source.OneValue, "begin": source.OneValue, "chdir": source.OneValue, "cluster-constraint": source.OneValue,
	"clusters": source.OneValue, "comment": source.OneValue, "constraint": source.OneValue, "container": source.OneValue, "contiguous": source.NoValue, "core-spec": source.OneValue, "cores-per-socket": source.OneValue, "cpu-freq": source.OneValue,
	"cpus-per-gpu": source.OneValue, "cpus-per-task": source.OneValue, "deadline": source.OneValue, "delay-boot": source.OneValue, "dependency": source.OneValue, "distribution": source.OneValue, "error": source.OneValue, "exclude": source.OneValue,
	"exclusive": source.OptionalValue, "export": source.OneValue, "export-file": source.OneValue, "extra": source.OneValue, "extra-node-info": source.OneValue, "get-user-env": source.OptionalValue, "gid": source.OneValue, "gpu-bind": source.OneValue,
	"gpu-freq": source.OneValue, "gpus": source.OneValue, "gpus-per-node": source.OneValue, "gpus-per-socket": source.OneValue, "gpus-per-task": source.OneValue, "gres": source.OneValue, "gres-flags": source.OneValue, "hint": source.OneValue, "hold": source.NoValue,
	"ignore-pbs": source.NoValue, "input": source.OneValue, "job-name": source.OneValue, "kill-on-invalid-dep": source.OneValue, "licenses": source.OneValue, "mail-type": source.OneValue, "mail-user": source.OneValue, "mem": source.OneValue, "mem-bind": source.OneValue,
	"mem-per-cpu": source.OneValue, "mem-per-gpu": source.OneValue, "mincpus": source.OneValue, "network": source.OneValue, "nice": source.OptionalValue, "no-kill": source.OptionalValue, "no-requeue": source.NoValue, "nodefile": source.OneValue, "nodelist": source.OneValue,
	"nodes": source.OneValue, "ntasks": source.OneValue, "ntasks-per-core": source.OneValue, "ntasks-per-gpu": source.OneValue, "ntasks-per-node": source.OneValue, "ntasks-per-socket": source.OneValue, "open-mode": source.OneValue, "output": source.OneValue,
	"overcommit": source.NoValue, "oversubscribe": source.NoValue, "parsable": source.NoValue, "partition": source.OneValue, "power": source.OneValue, "prefer": source.OneValue, "priority": source.OneValue, "profile": source.OneValue, "propagate": source.OptionalValue,
	"qos": source.OneValue, "quiet": source.NoValue, "reboot": source.NoValue, "requeue": source.NoValue, "reservation": source.OneValue, "segment": source.OneValue, "signal": source.OneValue, "sockets-per-node": source.OneValue, "spread-job": source.NoValue,
	"stepmgr": source.NoValue, "switches": source.OneValue, "test-only": source.NoValue, "thread-spec": source.OneValue, "threads-per-core": source.OneValue, "time": source.OneValue, "time-min": source.OneValue, "tmp": source.OneValue, "tres-bind": source.OneValue,
	"tres-per-task": source.OneValue, "uid": source.OneValue, "use-min-nodes": source.NoValue, "verbose": source.NoValue, "wait": source.NoValue, "wait-all-nodes": source.OneValue, "wckey": source.OneValue, "wrap": source.OneValue,

	// Of pyxis, which runs tasks in containers.
	"container-image": source.OneValue, "container-mounts": source.OneValue, "container-workdir": source.OneValue, "container-name": source.OneValue, "container-save": source.OneValue, "container-env": source.OneValue,
	"container-mount-home": source.NoValue, "no-container-mount-home": source.NoValue, "container-remap-root": source.NoValue, "no-container-remap-root": source.NoValue, "container-entrypoint": source.NoValue,
	"no-container-entrypoint": source.NoValue, "container-writable": source.NoValue, "container-readonly": source.NoValue,
}

// aliases are other names of options. --tasks is the first part of one, as Slurm reads it.
var aliases = map[string]string{"tasks-per-node": "ntasks-per-node"}

// wholeOption is the option that a long name means, which may be cut short for as
// long as it is one's alone (man getopt_long). What means none or several is left
// as it is.
func wholeOption(name string) string {
	if whole, is := aliases[name]; is {
		return whole
	}
	if _, is := options[name]; is || len(name) < 2 {
		return name
	}
	found := cutOption(name)
	if len(found) != 1 {
		return name
	}
	if whole, is := aliases[found[0]]; is {
		return whole
	}
	return found[0]
}

// cutOption are the options that begin so.
func cutOption(name string) []string {
	var found []string
	for _, other := range append(source.SortedKeys(options), source.SortedKeys(aliases)...) {
		if strings.HasPrefix(other, name) {
			found = append(found, other)
		}
	}
	return found
}

// ignored are options that change nothing of what is computed.
var ignored = source.Reasons{
	"acctg-freq": "usage is always counted", "quiet": "it is about what sbatch prints", "verbose": "it is about what sbatch prints", "parsable": "it is about what sbatch prints",
	"wait": "muster wait does it", "oversubscribe": "what is not asked for others may have", "overcommit": "srun starts as many as it is told, and each node has one CPU of its own", "distribution": "srun deals ranks to nodes so",
	"gpu-bind": "each node's GPUs are all its own", "gres-flags": "each node's GPUs are all its own", "mem-bind": "the kernel sees to it", "hint": "the kernel sees to it", "cpu-freq": "the kernel sees to it",
	"gpu-freq": "the driver sees to it", "use-min-nodes": "the number of nodes is fixed", "contiguous": "nodes have no order", "wait-all-nodes": "all start together", "kill-on-invalid-dep": "a job whose dependency ends otherwise waits, in case that is restarted; it fails once that is deleted",
	"ignore-pbs": "only #SBATCH lines are read", "get-user-env": "the environment is the submitter's", "no-kill": "what follows from a lost node the retry says", "propagate": "limits are the server's", "profile": "usage is always measured",
	"delay-boot": "nodes are not booted", "reboot": "nodes are not booted", "power": "nodes are not booted", "spread-job": "the scheduler chooses", "threads-per-core": "cores are counted", "ntasks-per-core": "cores are counted",
	"cores-per-socket": "the scheduler chooses", "sockets-per-node": "the scheduler chooses", "ntasks-per-socket": "the scheduler chooses", "extra-node-info": "the scheduler chooses", "core-spec": "the scheduler chooses", "thread-spec": "the scheduler chooses",
	"no-container-mount-home": "the home is not mounted", "no-container-entrypoint": "the script runs, not the image's own command", "no-container-remap-root": "runAs says who it runs as", "container-remap-root": "runAs says who it runs as",
	"container-writable": "what a container writes goes with it", "container-readonly": "what a container writes goes with it", "container-name": "containers go with their tasks", "stepmgr": "srun manages its steps",
	"test-only": "muster run --dry-run does it", "segment": "write topology.segment",
}

// dropped are options that have no counterpart in Muster.
var dropped = source.Reasons{
	"time-min": "the time is not shortened to fit",
	"clusters": "write clusters", "cluster-constraint": "write clusters", "nice": "write priority", "wckey": "there are no such keys",
	"bb": "there are no burst buffers", "bbf": "there are no burst buffers", "tmp": "disk is neither counted nor limited", "switches": "write topology",
	"uid": "it runs as its user", "gid": "it runs as its user", "network": "there are no network rules", "export-file": "write env",
	"container-save": "containers go with their tasks", "container-mount-home": "write volumes", "container-entrypoint": "the script runs, not the image's own command", "container-env": "the script's own variables count",
	"container": "write image", "batch": "write nodeSelector", "prefer": "write nodeSelector", "nodefile": "write nodeAffinity", "extra": "nodes have no such words; write nodeSelector", "tres-bind": "each node's GPUs are all its own",
	"gpus-per-socket": "sockets are not known",
}

// nearOption suggests an option for one that is none.
func nearOption(name string) string {
	best, most := "", 0
	for _, other := range source.SortedKeys(options) {
		same := 0
		for same < len(other) && same < len(name) && other[same] == name[same] {
			same++
		}
		same += suffix(other[same:], name[same:])
		if missing := max(len(other), len(name)) - same; missing <= 2 && same > most && same > 2 {
			best, most = other, same
		}
	}
	if several := cutOption(name); best == "" && len(several) > 1 && name != "" {
		return ": it is cut short and could be --" + strings.Join(several, ", --")
	}
	if best == "" {
		return ""
	}
	return "; did you mean --" + best + "?"
}

func suffix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// finish accounts for the options that mean nothing here.
func (s *script) finish() {
	for _, name := range source.SortedKeys(s.opts) {
		d := s.opts[name]
		if hint := wrongWord(name, d); hint != "" {
			s.refuse(d, fmt.Sprintf("%q is none", source.Shorten(d.value)), "write "+hint)
			continue
		}
		if d.recorded {
			continue
		}
		if name == "nice" && d.has && d.value == "0" {
			s.record(d, source.Ignored, false, "", "it asks for nothing")
		} else if why, lossy := dropped[name]; lossy {
			s.record(d, source.Ignored, true, "", why)
		} else {
			s.record(d, source.Ignored, false, "", ignored[name])
		}
	}
}

// Aliases are the other names of an option, each with a blank before it.
func Aliases(name string) string {
	var b strings.Builder
	for _, alias := range source.SortedKeys(aliases) {
		if aliases[alias] == name {
			b.WriteString(" " + alias)
		}
	}
	return b.String()
}

// CompleteOption is the option that a long name means, which may be cut short, and
// how many begin so.
func CompleteOption(name string) (whole string, begin int) {
	return wholeOption(name), len(cutOption(name))
}

// Option reports whether sbatch has an option of that long name, and
// whether it must have a value.
func Option(name string) (value, known bool) {
	name = wholeOption(name)
	t, known := options[name]
	return t == source.OneValue, known
}

// ShortOption is the long name of an option of one letter.
func ShortOption(letter byte) (name string, known bool) {
	name, known = shortOptions[letter]
	return name, known
}
