package slurm

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// words are what options may say that mean nothing here, as sbatch 22.05.8 and its
// documentation have it: Slurm refuses others when the job is submitted.
var words = map[string]string{
	"distribution": distributions, "hint": "((compute_bound|memory_bound|(no)?multithread)[,;]?)+", "open-mode": "append|truncate|a|t",
	"wait-all-nodes": "0|1", "kill-on-invalid-dep": "yes|no|y|n", "exclusive": "exclusive|user|mcs|topo", "gres-flags": "(enforce-binding|disable-binding|allow-task-sharing|multiple-tasks-per-sharing|one-task-per-sharing)(,.*)?",
	"profile": "all|none|(energy|task|lustre|filesystem|network|acct_gather_[a-z]+)(,.*)?", "propagate": "all|none|((RLIMIT_)?(as|core|cpu|data|fsize|memlock|nofile|nproc|rss|stack),?)+",
}

// distributions are the values of --distribution
// (https://slurm.schedmd.com/srun.html#OPT_distribution).
const distributions = `(\*|block|cyclic|arbitrary)(:(\*|block|cyclic|fcyclic)){0,2}(,(pack|nopack))?|plane=[1-9][0-9]*(,(pack|nopack))?`

// allowed says in a person's words what an option of words may say.
var allowed = map[string]string{
	"distribution": "block, cyclic, arbitrary or plane=SIZE", "hint": "compute_bound, memory_bound, multithread or nomultithread", "open-mode": "append or truncate",
	"wait-all-nodes": "0 or 1", "kill-on-invalid-dep": "yes or no", "exclusive": "it alone, or with user or mcs", "gres-flags": "enforce-binding or disable-binding", "profile": "all, none, energy, task, lustre or network",
	"propagate": "ALL, NONE or names of limits, such as STACK,MEMLOCK",
}

// numbered are options that take a whole number, and mean nothing here.
var numbered = []string{"ntasks-per-core", "ntasks-per-socket", "threads-per-core", "cores-per-socket", "sockets-per-node", "core-spec", "thread-spec"}

// patterns are words; most commands read no script, and would pay for them at their start.
var patterns = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for name, text := range words {
		all[name] = regexp.MustCompile("(?i)^(" + text + ")$")
	}
	return all
})

// wrongWord is what to write instead where an option says what Slurm does not know.
func wrongWord(name string, d *directive) (hint string) {
	if p := patterns()[name]; p != nil && d.has && !p.MatchString(d.value) {
		return allowed[name]
	}
	for _, other := range numbered {
		if name == other {
			if n, err := strconv.Atoi(strings.TrimSpace(d.value)); d.has && (err != nil || n < 0) {
				return "a whole number"
			}
		}
	}
	return ""
}

// IsDistribution reports whether srun takes it as --distribution.
func IsDistribution(value string) bool { return patterns()["distribution"].MatchString(value) }
