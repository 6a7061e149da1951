package convert

import (
	"strings"
)

// sbatchShort are the options of one letter (man sbatch).
var sbatchShort = map[byte]string{
	'A': "account", 'a': "array", 'b': "begin", 'B': "extra-node-info", 'C': "constraint", 'c': "cpus-per-task", 'D': "chdir", 'd': "dependency", 'e': "error",
	'F': "nodefile", 'G': "gpus", 'H': "hold", 'i': "input", 'J': "job-name", 'k': "no-kill", 'L': "licenses", 'm': "distribution", 'M': "clusters", 'N': "nodes", 'n': "ntasks",
	'o': "output", 'O': "overcommit", 'p': "partition", 'Q': "quiet", 'q': "qos", 's': "oversubscribe", 'S': "core-spec", 't': "time", 'v': "verbose", 'W': "wait", 'w': "nodelist", 'x': "exclude",
}

// sbatchOptions are all options of sbatch.
var sbatchOptions = map[string]takes{
	"account": takesOne, "acctg-freq": takesOne, "array": takesOne, "batch": takesOne, "bb": takesOne, "bbf": takesOne, "begin": takesOne, "chdir": takesOne, "cluster-constraint": takesOne,
	"clusters": takesOne, "comment": takesOne, "constraint": takesOne, "container": takesOne, "contiguous": takesNone, "core-spec": takesOne, "cores-per-socket": takesOne, "cpu-freq": takesOne,
	"cpus-per-gpu": takesOne, "cpus-per-task": takesOne, "deadline": takesOne, "delay-boot": takesOne, "dependency": takesOne, "distribution": takesOne, "error": takesOne, "exclude": takesOne,
	"exclusive": takesMaybe, "export": takesOne, "export-file": takesOne, "extra": takesOne, "extra-node-info": takesOne, "get-user-env": takesMaybe, "gid": takesOne, "gpu-bind": takesOne,
	"gpu-freq": takesOne, "gpus": takesOne, "gpus-per-node": takesOne, "gpus-per-socket": takesOne, "gpus-per-task": takesOne, "gres": takesOne, "gres-flags": takesOne, "hint": takesOne, "hold": takesNone,
	"ignore-pbs": takesNone, "input": takesOne, "job-name": takesOne, "kill-on-invalid-dep": takesOne, "licenses": takesOne, "mail-type": takesOne, "mail-user": takesOne, "mem": takesOne, "mem-bind": takesOne,
	"mem-per-cpu": takesOne, "mem-per-gpu": takesOne, "mincpus": takesOne, "network": takesOne, "nice": takesMaybe, "no-kill": takesMaybe, "no-requeue": takesNone, "nodefile": takesOne, "nodelist": takesOne,
	"nodes": takesOne, "ntasks": takesOne, "ntasks-per-core": takesOne, "ntasks-per-gpu": takesOne, "ntasks-per-node": takesOne, "ntasks-per-socket": takesOne, "open-mode": takesOne, "output": takesOne,
	"overcommit": takesNone, "oversubscribe": takesNone, "parsable": takesNone, "partition": takesOne, "power": takesOne, "prefer": takesOne, "priority": takesOne, "profile": takesOne, "propagate": takesMaybe,
	"qos": takesOne, "quiet": takesNone, "reboot": takesNone, "requeue": takesNone, "reservation": takesOne, "segment": takesOne, "signal": takesOne, "sockets-per-node": takesOne, "spread-job": takesNone,
	"stepmgr": takesNone, "switches": takesOne, "test-only": takesNone, "thread-spec": takesOne, "threads-per-core": takesOne, "time": takesOne, "time-min": takesOne, "tmp": takesOne, "tres-bind": takesOne,
	"tres-per-task": takesOne, "uid": takesOne, "use-min-nodes": takesNone, "verbose": takesNone, "wait": takesNone, "wait-all-nodes": takesOne, "wckey": takesOne, "wrap": takesOne,

	// Of pyxis, which runs tasks in containers.
	"container-image": takesOne, "container-mounts": takesOne, "container-workdir": takesOne, "container-name": takesOne, "container-save": takesOne, "container-env": takesOne,
	"container-mount-home": takesNone, "no-container-mount-home": takesNone, "container-remap-root": takesNone, "no-container-remap-root": takesNone, "container-entrypoint": takesNone,
	"no-container-entrypoint": takesNone, "container-writable": takesNone, "container-readonly": takesNone,
}

// sbatchAliases are other names of options.
var sbatchAliases = map[string]string{"tasks": "ntasks", "tasks-per-node": "ntasks-per-node"}

// wholeOption is the option that a long name means, which may be cut short for as
// long as it is one's alone (man getopt_long). What means none or several is left
// as it is.
func wholeOption(name string) string {
	if whole, is := sbatchAliases[name]; is {
		return whole
	}
	if _, is := sbatchOptions[name]; is || len(name) < 2 {
		return name
	}
	found := cutOption(name)
	if len(found) != 1 {
		return name
	}
	if whole, is := sbatchAliases[found[0]]; is {
		return whole
	}
	return found[0]
}

// cutOption are the options that begin so.
func cutOption(name string) []string {
	var found []string
	for _, other := range append(sortedKeys(sbatchOptions), sortedKeys(sbatchAliases)...) {
		if strings.HasPrefix(other, name) {
			found = append(found, other)
		}
	}
	return found
}

// sbatchHarmless are options that change nothing of what is computed.
var sbatchHarmless = nothing{
	"acctg-freq": "usage is always counted", "quiet": "it is about what sbatch prints", "verbose": "it is about what sbatch prints", "parsable": "it is about what sbatch prints",
	"wait": "muster wait does it", "oversubscribe": "what is not asked for others may have", "overcommit": "srun starts as many as it is told", "distribution": "ranks go to nodes in blocks",
	"gpu-bind": "each node's GPUs are all its own", "gres-flags": "each node's GPUs are all its own", "mem-bind": "the kernel sees to it", "hint": "the kernel sees to it", "cpu-freq": "the kernel sees to it",
	"gpu-freq": "the driver sees to it", "use-min-nodes": "the number of nodes is fixed", "contiguous": "nodes have no order", "wait-all-nodes": "all start together", "kill-on-invalid-dep": "a job whose dependency ends otherwise waits, in case that is restarted; it fails once that is deleted",
	"ignore-pbs": "only #SBATCH lines are read", "get-user-env": "the environment is the submitter's", "no-kill": "what follows from a lost node the retry says", "propagate": "limits are the server's", "profile": "usage is always measured",
	"delay-boot": "nodes are not booted", "reboot": "nodes are not booted", "power": "nodes are not booted", "spread-job": "the scheduler chooses", "threads-per-core": "cores are counted", "ntasks-per-core": "cores are counted",
	"cores-per-socket": "the scheduler chooses", "sockets-per-node": "the scheduler chooses", "ntasks-per-socket": "the scheduler chooses", "extra-node-info": "the scheduler chooses", "core-spec": "the scheduler chooses", "thread-spec": "the scheduler chooses",
	"no-container-mount-home": "the home is not mounted", "no-container-entrypoint": "the script runs, not the image's own command", "no-container-remap-root": "runAs says who it runs as", "container-remap-root": "runAs says who it runs as",
	"container-writable": "what a container writes goes with it", "container-readonly": "what a container writes goes with it", "container-name": "containers go with their tasks", "stepmgr": "srun manages its steps",
	"test-only": "muster run --dry-run does it", "segment": "write topology.segment",
}

// sbatchLossy are options whose meaning is lost.
var sbatchLossy = nothing{
	"time-min": "the time is not shortened to fit",
	"clusters": "write clusters", "cluster-constraint": "write clusters", "nice": "write priority", "wckey": "there are no such keys",
	"bb": "there are no burst buffers", "bbf": "there are no burst buffers", "tmp": "disk is neither counted nor limited", "switches": "write topology",
	"input": "the script reads nothing; use a file", "uid": "it runs as its user", "gid": "it runs as its user", "network": "there are no network rules", "export-file": "write env",
	"container-save": "containers go with their tasks", "container-mount-home": "write volumes", "container-entrypoint": "the script runs, not the image's own command", "container-env": "the script's own variables count",
	"container": "write image", "batch": "write nodeSelector", "prefer": "write nodeSelector", "nodefile": "write nodeAffinity", "extra": "nodes have no such words; write nodeSelector", "tres-bind": "each node's GPUs are all its own", "mincpus": "write resources.cpu",
	"gpus-per-socket": "sockets are not known",
}

// nearOption suggests an option for one that is none.
func nearOption(name string) string {
	best, most := "", 0
	for _, other := range sortedKeys(sbatchOptions) {
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

// rest accounts for the options that mean nothing here.
func (s *script) rest() {
	for _, name := range sortedKeys(s.opts) {
		d := s.opts[name]
		if d.said {
			continue
		}
		if why, lossy := sbatchLossy[name]; lossy {
			s.say(d, Ignored, true, "", why)
		} else {
			s.say(d, Ignored, false, "", sbatchHarmless[name])
		}
	}
}

// SbatchAliases are the other names of an option, each with a blank before it.
func SbatchAliases(name string) string {
	var b strings.Builder
	for _, alias := range sortedKeys(sbatchAliases) {
		if sbatchAliases[alias] == name {
			b.WriteString(" " + alias)
		}
	}
	return b.String()
}

// SbatchWhole is the option that a long name means, which may be cut short, and
// how many begin so.
func SbatchWhole(name string) (whole string, begin int) {
	return wholeOption(name), len(cutOption(name))
}

// SbatchOption reports whether sbatch has an option of that long name, and
// whether it must have a value.
func SbatchOption(name string) (value, known bool) {
	name = wholeOption(name)
	t, known := sbatchOptions[name]
	return t == takesOne, known
}

// SbatchShort is the long name of an option of one letter.
func SbatchShort(letter byte) (name string, known bool) {
	name, known = sbatchShort[letter]
	return name, known
}
