package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// ours begins the labels that the server gives nodes, which nobody asks for by
// hand.
const ours = "muster.dev/"

// nowhere is that the conditions of a on nodes leave it none at all, which no
// amount of anything could change; false: some node suits it, or what bars it is
// not a condition that somebody wrote.
func nowhere(st *state.State, pools []*ledger.Pool, a *ledger.Ask) (schedule.Reason, bool) {
	if a.Rule == nil {
		return schedule.Reason{}, false
	}
	var sites []*ledger.Site
	for _, p := range pools {
		sites = append(sites, p.Sites...)
	}
	if len(sites) == 0 || slices.ContainsFunc(sites, func(s *ledger.Site) bool { return st.Allowed(s, a) }) {
		return schedule.Reason{}, false
	}
	r := schedule.Reason{Token: schedule.NeverFits, Resource: schedule.ResourceNodes, OfNodes: len(sites)}
	var written []schedule.Term // by people
	for i := range a.Rule.Terms {
		if !strings.HasPrefix(a.Rule.Terms[i].Key, ours) {
			written = append(written, a.Rule.Terms[i])
		}
	}
	holdAll := func(s *ledger.Site, terms []schedule.Term) bool {
		return !slices.ContainsFunc(terms, func(t schedule.Term) bool { return !ledger.Holds(&t, s) })
	}
	chosen := func(s *ledger.Site) bool {
		return len(a.Rule.Any) == 0 || slices.ContainsFunc(a.Rule.Any, func(terms []schedule.Term) bool { return holdAll(s, terms) })
	}
	holds := func(s *ledger.Site) bool { return holdAll(s, written) && chosen(s) }
	for i := range written {
		if t := &written[i]; !slices.ContainsFunc(sites, func(s *ledger.Site) bool { return ledger.Holds(t, s) }) {
			r.Label, r.Note = t.Key, fmt.Sprintf("it asks for nodes with %s, and none of %s has that", words(t), nodesWord(len(sites)))
			r.Nearest = nearest(sites, t)
			return r, true
		}
	}
	if len(a.Rule.Any) > 0 && !slices.ContainsFunc(sites, chosen) {
		r.Label, r.Note = a.Rule.Any[0][0].Key, fmt.Sprintf("it asks for nodes with %s, and none of %s has one of these", choices(a.Rule.Any), nodesWord(len(sites)))
		return r, true
	}
	first := slices.Concat(slices.Concat(a.Rule.Any...), written)
	if len(first) > 1 && !slices.ContainsFunc(sites, holds) {
		all := together(written)
		if len(a.Rule.Any) > 0 {
			all = strings.Join(slices.DeleteFunc([]string{all, "(" + choices(a.Rule.Any) + ")"}, func(s string) bool { return s == "" }), " and ")
		}
		r.Label, r.Note = first[0].Key, fmt.Sprintf("it asks for nodes with %s, and none of %s has all of these", all, nodesWord(len(sites)))
		return r, true
	}
	taints := map[string]int{}
	for _, s := range sites {
		if !holds(s) {
			continue
		}
		for _, t := range s.Node.Taints {
			if !ledger.Tolerated([]core.Taint{t}, a.Rule) {
				taints[t.Key]++
			}
		}
	}
	if len(first) == 0 || len(taints) == 0 {
		return schedule.Reason{}, false
	}
	key := slices.SortedFunc(maps.Keys(taints), func(x, y string) int {
		if d := taints[y] - taints[x]; d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})[0]
	r.Label, r.Taint = first[0].Key, key
	r.Note = fmt.Sprintf("the nodes that it asks for have the taint %s, which it does not tolerate", key)
	return r, true
}

func nodesWord(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// together are conditions all of which must hold.
func together(terms []schedule.Term) string {
	var all []string
	for i := range terms {
		all = append(all, words(&terms[i]))
	}
	return strings.Join(all, " and ")
}

// choices are sets of conditions of which one must hold.
func choices(any [][]schedule.Term) string {
	var all []string
	for _, terms := range any {
		all = append(all, together(terms))
	}
	return strings.Join(all, " or ")
}

// words are a condition as people write it.
func words(t *schedule.Term) string {
	switch {
	case t.Op == "In" && len(t.Values) == 1:
		return t.Key + "=" + t.Values[0]
	case t.Op == "In":
		return fmt.Sprintf("%s in %s", t.Key, strings.Join(t.Values, ", "))
	case t.Op == "NotIn":
		return fmt.Sprintf("%s not in %s", t.Key, strings.Join(t.Values, ", "))
	case t.Op == "Exists":
		return "a label " + t.Key
	case t.Op == "DoesNotExist":
		return "no label " + t.Key
	default:
		return fmt.Sprintf("%s %s %s", t.Key, t.Op, strings.Join(t.Values, ", "))
	}
}

// nearest is the label of a node that is written most like what t asks for;
// empty: nothing is at all like it.
func nearest(sites []*ledger.Site, t *schedule.Term) string {
	if t.Op != "In" && t.Op != "Exists" {
		return ""
	}
	values := map[string]bool{}
	for _, s := range sites {
		if v, has := s.Node.Labels[t.Key]; has {
			values[v] = true
		} else if t.Key == hostname {
			values[string(s.Node.ID)] = true
		}
	}
	best, least := "", 0
	for v := range maps.Keys(values) {
		for _, w := range t.Values {
			if d := distance(w, v); best == "" || d < least || d == least && t.Key+"="+v < best {
				best, least = t.Key+"="+v, d
			}
		}
	}
	if best != "" {
		return best
	}
	// No node has such a label: perhaps it is called otherwise.
	for _, s := range sites {
		for k, v := range s.Node.Labels {
			label := k + "=" + v
			d := distance(t.Key, k)
			if strings.HasPrefix(k, ours) || 3*d > len(t.Key) {
				continue
			}
			if len(t.Values) > 0 {
				d = 1000*d + distance(t.Values[0], v)
			}
			if best == "" || d < least || d == least && label < best {
				best, least = label, d
			}
		}
	}
	return best
}

const hostname = "kubernetes.io/hostname"

// distance is how many letters must be changed, added or taken away to make one
// word of another, capitals aside.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for i := range row {
		row[i] = i
	}
	for i := range x {
		last := row[0]
		row[0] = i + 1
		for k := range y {
			old := row[k+1]
			row[k+1] = min(row[k+1]+1, row[k]+1, last+1-ledger.Bit(x[i] == y[k]))
			last = old
		}
	}
	return row[len(y)]
}

// crowdedApart is that j's tasks would fit, but for having to be apart from each
// other, or near each other.
func crowdedApart(st *state.State, pools []*ledger.Pool, j *ledger.Job, r *schedule.Reason) {
	data := j.Job
	groups := slices.Clone(data.Shape.Groups)
	for g := range groups {
		groups[g].Runs = slices.Clone(groups[g].Runs)
		for i := range groups[g].Runs {
			run := &groups[g].Runs[i]
			if run.Rule == nil || run.Rule.Away == "" && run.Rule.Near == "" {
				continue
			}
			rule := *run.Rule
			if r.Resource, r.Label = schedule.ResourceApart, rule.Away; rule.Away == "" {
				r.Resource, r.Label = schedule.ResourceNear, rule.Near
			}
			rule.Away, rule.Near = "", ""
			run.Rule = &rule
		}
	}
	if r.Label == "" {
		return
	}
	data.Shape, data.Queue = schedule.NewShape(data.Shape.Sets, groups), ""
	free := stranger(st, data)
	_, tries := free.Next()
	for _, p := range pools {
		mark := len(st.Log)
		ok := place.PlaceIn(st, p, free, tries)
		st.Undo(mark)
		if ok {
			r.Free = int64(values(pools, r.Label)) // as many as have a value of their own
			return
		}
	}
	r.Resource, r.Label = "tasks", "" // it is too much in any case
}

// values is how many values of a label the nodes of pools have.
func values(pools []*ledger.Pool, key string) int {
	seen := map[string]bool{}
	for _, p := range pools {
		for _, s := range p.Sites {
			seen[ledger.Label(s, key)] = true
		}
	}
	return len(seen)
}

// stranger is a job that no queue knows, for questions about room alone.
func stranger(st *state.State, data schedule.Job) *ledger.Job {
	return &ledger.Job{Job: data, Leaf: -1, Active: make([]int32, len(data.Shape.Groups)), Placed: make([]int32, len(data.Shape.Groups))}
}
