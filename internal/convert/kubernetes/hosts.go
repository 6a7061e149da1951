package kubernetes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/kubernetes/podnames"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/core/spec"
)

// podNames are the names by which the pods of one group of a gang reach each other in
// a cluster.
type podNames struct {
	name   *regexp.Regexp // its groups are numbers
	entry  hosts.Entry
	bounds []int  // how many of each number there are
	rest   string // what names a pod by parts
}

// namesOf are those of one group of pods: what stands before their numbers, their
// domain where they have one, the rank of the first, and how many of each number.
func namesOf(before, domain string, first int, bounds ...int) podNames {
	pattern, host := regexp.QuoteMeta(before)+strings.Repeat(`-(\d+)`, len(bounds)), before
	if domain != "" {
		pattern += `(?:\.` + regexp.QuoteMeta(domain) + `(?:\.[a-z0-9-]+\.svc(?:\.cluster\.local)?)?)?`
	}
	for _, n := range bounds {
		host += "-{0.." + strconv.Itoa(n-1) + "}"
	}
	return podNames{name: regexp.MustCompile(pattern), entry: hosts.Entry{Host: host, Domain: domain, First: first}, bounds: bounds}
}

// rank is that of the pod with these numbers; less than 0: there is none.
func (h podNames) rank(numbers []int) int {
	rank := 0
	for i, n := range numbers {
		if n < 0 || n >= h.bounds[i] {
			return -1
		}
		rank = rank*h.bounds[i] + n
	}
	return h.entry.First + rank
}

// resolve puts the addresses of tasks where a text has names of pods.
func (h podNames) resolve(text string, used map[int]bool) string {
	var b strings.Builder
	last := 0
	for _, m := range h.name.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		if from > 0 && ofName(text[from-1]) || to < len(text) && ofName(text[to]) {
			continue // a part of a longer name
		}
		var numbers []int
		for i := 2; i < len(m); i += 2 {
			n, err := strconv.Atoi(text[m[i]:m[i+1]])
			if err != nil {
				n = -1
			}
			numbers = append(numbers, n)
		}
		rank := h.rank(numbers)
		if rank < 0 {
			continue
		}
		used[rank] = true
		b.WriteString(text[last:from] + variable("host"+strconv.Itoa(rank)))
		last = to
	}
	return b.String() + text[last:]
}

func ofName(c byte) bool {
	return c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// addressOf is a line of the shell that finds out where the task of a rank is.
func addressOf(rank int) string {
	if rank == 0 {
		return `host0="$MASTER_ADDR"`
	}
	return fmt.Sprintf(`set -- $MUSTER_TASK_ADDRESSES; shift %d; host%d="$1"`, rank, rank)
}

// resolved puts addresses where the variables and the command of a document
// have names of pods, and returns the lines of the shell that find them out.
func resolved(doc *spec.Document, names []podNames, at *source.Value) (lines []string) {
	for _, h := range names {
		podnames.Give(doc, h.entry)
	}
	used := map[int]bool{}
	in := func(text string) string {
		for _, h := range names {
			text = h.resolve(text, used)
		}
		for _, h := range names {
			if h.rest != "" && strings.Contains(text, h.rest) {
				at.Dropped("it puts the names of pods together by parts, and tasks in a cluster have others: they find each other by MASTER_ADDR and MUSTER_TASK_ADDRESSES")
				return text
			}
		}
		return text
	}
	for name, text := range doc.Env {
		doc.Env[name] = in(text)
	}
	doc.Command.Argv, doc.Args = slices.Clone(doc.Command.Argv), slices.Clone(doc.Args)
	for i, a := range doc.Command.Argv {
		doc.Command.Argv[i] = in(a)
	}
	for i, a := range doc.Args {
		doc.Args[i] = in(a)
	}
	for _, rank := range slices.Sorted(maps.Keys(used)) {
		lines = append(lines, addressOf(rank))
	}
	if len(lines) > 0 {
		at.Translated("command", "names of pods are the addresses of tasks")
	}
	return lines
}

// aloneNamed is a workload of one pod, and the name by which others reach that.
type aloneNamed struct {
	doc   *spec.Document
	entry hosts.Entry
}

// namedAlone gives a workload of one pod the name HOST.DOMAIN, for itself and for others
// of the file.
func (k *reader) namedAlone(doc *spec.Document, host, domain string) {
	if host != "" && domain != "" {
		k.alone = append(k.alone, aloneNamed{doc, hosts.Entry{Host: host, Domain: domain, Last: -1}})
	}
}

// nameAlone gives pods that have a name of their own that name, and tells those of the
// other workloads of the file.
func nameAlone(k *reader) {
	for _, a := range k.alone {
		if !slices.Contains(k.Documents, a.doc) {
			continue // another document has taken it in
		}
		podnames.Give(a.doc, a.entry)
		other := a.entry
		other.Of = a.doc.Name
		for _, doc := range k.Documents {
			if doc != a.doc && doc.Project == a.doc.Project && a.doc.Name != "" {
				podnames.Give(doc, other)
			}
		}
	}
}
