// Package hosts has the names by which tasks reach each other, as an annotation of
// their workload writes them.
package hosts

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// Annotation is the annotation of a workload that names its tasks, and others: entries
// with blanks between.
//
//	train-{0..3}.net      the tasks 0 to 3 are train-0 … train-3, in the domain net
//	run-worker-{0..3}=1   such of which the first is task 1
//	store=0               task 0
//	ddp=0-3, store=*      these tasks, or all: one name for several
//	store=@db             the tasks of the workload db of the same project
//
// A name may end with .NAMESPACE.svc; where it does not, the namespace is the project.
// What is no entry is passed over: an annotation is free text, and another's may have
// its name by chance.
const Annotation = "muster.dev/hosts"

// mostNames bounds how many tasks an annotation names: the list goes to each of them.
const mostNames = 4096

// Entry is one name, or names that are counted.
type Entry struct {
	Host   string // up to its domain; has numbers in braces where it stands for several
	Domain string // without the dot before it
	Space  string // namespace; empty: that of the project
	First  int    // index of the first task; of names that are counted that of the first name
	Last   int    // index of the last task; below First: all that there are
	Of     string // whose tasks: a workload; empty: its own
}

// Counted reports whether e names each task by a number.
func (e Entry) Counted() bool { return strings.Contains(e.Host, "{") }

// Service reports whether e is one name for tasks of its workload, as services have.
func (e Entry) Service() bool { return !e.Counted() && e.Domain == "" && e.Of == "" }

// String writes an entry as the annotation has it.
func (e Entry) String() string {
	s := e.Host
	if e.Domain != "" {
		s += "." + e.Domain
	}
	if e.Space != "" {
		s += "." + e.Space + ".svc"
	}
	switch {
	case e.Of != "":
		return s + "=@" + e.Of
	case e.Counted() && e.First == 0:
		return s
	case !e.Counted() && e.Last < e.First:
		return s + "=*"
	case !e.Counted() && e.Last > e.First:
		return s + "=" + strconv.Itoa(e.First) + "-" + strconv.Itoa(e.Last)
	}
	return s + "=" + strconv.Itoa(e.First)
}

// Write writes entries as the annotation has them, each once.
func Write(entries []Entry) string {
	var words []string
	seen := map[string]bool{}
	for _, e := range entries {
		if w := e.String(); !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// Parse reads an annotation.
func Parse(text string) (entries []Entry) {
	named := 0
	for word := range strings.FieldsSeq(text) {
		e, ok := parse(word)
		if !ok {
			continue
		}
		if named += count(e.Host); named > mostNames {
			break
		}
		entries = append(entries, e)
	}
	return entries
}

func parse(word string) (e Entry, ok bool) {
	name, tasks, given := strings.Cut(word, "=")
	outside := hollow(name) // dots between braces divide nothing
	if rest, is := strings.CutSuffix(outside, ".svc"); is {
		at := strings.LastIndexByte(rest, '.')
		if at < 0 {
			return e, false
		}
		e.Space, name, outside = name[at+1:len(rest)], name[:at], outside[:at]
	}
	e.Host = name
	if at := strings.IndexByte(outside, '.'); at >= 0 {
		e.Host, e.Domain = name[:at], name[at+1:]
	}
	n := count(e.Host)
	if n == 0 || strings.HasSuffix(name, ".") || n > mostNames || !isName(strings.ReplaceAll(e.Domain, ".", "")) && e.Domain != "" || !isName(e.Space) && e.Space != "" {
		return e, false
	}
	if !given {
		return e, e.Counted()
	}
	if of, is := strings.CutPrefix(tasks, "@"); is {
		e.Of = of
		return e, of != "" && !e.Counted()
	}
	if tasks == "*" {
		e.Last = -1
		return e, !e.Counted()
	}
	first, last, several := strings.Cut(tasks, "-")
	var err error
	if e.First, err = strconv.Atoi(first); err != nil || e.First < 0 {
		return e, false
	}
	e.Last = e.First
	if several {
		if e.Last, err = strconv.Atoi(last); err != nil || e.Last < e.First {
			return e, false
		}
	}
	return e, !several || !e.Counted()
}

// hollow is a name with something without dots where it has braces, of the same length.
func hollow(name string) string {
	b, in := []byte(name), false
	for i, c := range b {
		in = c == '{' || in && c != '}'
		if in && c == '.' {
			b[i] = '-'
		}
	}
	return string(b)
}

// count is how many names a host with braces stands for; 0: it is none.
func count(host string) int {
	before, from, to, after, ok := braces(host)
	if !ok {
		return core.Bit(isName(host))
	}
	n := to - from + 1
	if n < 1 || n > mostNames || before != "" && !isName(before) {
		return 0
	}
	if after != "" {
		n *= count(after)
	}
	return n
}

// braces divides a host at the first of its numbers.
func braces(host string) (before string, from, to int, after string, ok bool) {
	before, rest, is := strings.Cut(host, "{")
	numbers, after, closed := strings.Cut(rest, "}")
	low, high, both := strings.Cut(numbers, "..")
	from, err := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	return before, from, to, after, is && closed && both && err == nil && err2 == nil && from >= 0
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

// Each are the names that a host with braces stands for, in their order: the last
// number goes round first.
func Each(host string) []string {
	before, from, to, after, ok := braces(host)
	if !ok {
		return []string{host}
	}
	var all []string
	rest := Each(after)
	for i := from; i <= to; i++ {
		for _, r := range rest {
			all = append(all, before+strconv.Itoa(i)+r)
		}
	}
	return all
}

// Full are all ways in which a cluster would let a host of e be called, the shortest
// first; space is the namespace where e names none.
func (e Entry) Full(host, space string) []string {
	names := []string{host}
	add := func(part string) {
		if part != "" {
			names = append(names, names[len(names)-1]+"."+part)
		}
	}
	add(e.Domain)
	if e.Space != "" {
		space = e.Space
	}
	if space != "" {
		add(space)
		add("svc")
		add("cluster.local")
	}
	return names
}
