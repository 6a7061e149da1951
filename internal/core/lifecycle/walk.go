package lifecycle

import "slices"

// moment is a workload as one dialect sees it: a state, what was before its
// deletion, and the circumstances that hold.
type moment struct {
	now, prior State
	facts      uint // bits of walker.facts
	task       string
}

// walker goes through every moment that the table and the circumstances make
// possible, as coarsely as one dialect can tell them apart.
type walker struct {
	t       *tongue
	facts   []fact
	reasons []Reason // those that the dialect looks at
	prior   bool     // whether it says last words
	tasks   bool     // whether it listens to tasks
}

// fact is a condition, or the silence of the whole backend where cond is empty,
// and the phases in which it makes a difference.
type fact struct {
	cond ConditionType
	in   []Phase
}

// name is how the fact's beginning or end is written on an arrow.
func (f fact) name(begins bool) string {
	switch {
	case f.cond == "" && begins:
		return "backend silent"
	case f.cond == "":
		return "backend back"
	case begins:
		return "+" + string(f.cond)
	default:
		return "-" + string(f.cond)
	}
}

func newWalker(t *tongue) *walker {
	w := &walker{t: t}
	add := func(c ConditionType, in []Phase) {
		i := slices.IndexFunc(w.facts, func(f fact) bool { return f.cond == c })
		if i < 0 {
			i = len(w.facts)
			w.facts = append(w.facts, fact{cond: c})
		}
		w.facts[i].in = append(w.facts[i].in, in...)
	}
	for i := range t.rows {
		r := &t.rows[i]
		if r.with != "" {
			add(r.with, r.in)
		}
		if r.backend {
			add("", r.in)
		}
		w.reasons = append(w.reasons, r.why...)
		w.prior = w.prior || r.say == last
		w.tasks = w.tasks || len(r.tasks) > 0
	}
	return w
}

// change is one arrow from one moment to another, and why.
type change struct {
	from, to moment
	why      string
}

// walk calls see for everything that can happen, from nothing on. Attempts
// after the second are not told apart, which is what makes the walk finite.
func (w *walker) walk(see func(change)) {
	seen := map[moment]bool{{}: true}
	for queue := []moment{{}}; len(queue) > 0; queue = queue[1:] {
		for _, c := range w.changes(queue[0]) {
			see(c)
			if !seen[c.to] {
				seen[c.to] = true
				queue = append(queue, c.to)
			}
		}
	}
}

// changes is all that can happen at m: an event of the machine, the beginning
// or end of a circumstance, a task's next word.
func (w *walker) changes(m moment) []change {
	var all []change
	for _, in := range suggestions(m.now) {
		n, err := Next(m.now, in)
		if err != nil {
			continue
		}
		for _, to := range w.arrivals(m, in.On, n) {
			all = append(all, change{m, to, string(in.On)})
		}
	}
	for i, f := range w.facts {
		if slices.Contains(f.in, m.now.Phase) {
			to := m
			to.facts ^= 1 << i
			all = append(all, change{m, to, f.name(to.facts&(1<<i) != 0)})
		}
	}
	for _, s := range taskSteps {
		if w.tasks && s.in == m.now.Phase && s.from == m.task {
			to := m
			to.task = s.to
			all = append(all, change{m, to, s.why})
		}
	}
	return all
}

// suggestions returns every way to offer s an event that fits it.
func suggestions(s State) []Input {
	var all []Input
	for i := range rules {
		r := &rules[i]
		if !slices.Contains(r.From, s.Phase) || !r.holds(s) {
			continue
		}
		in := Input{On: r.On, To: r.To}
		if r.To == AsTargeted {
			in.To = None
		}
		if len(r.Targets) == 0 {
			all = append(all, in)
		}
		for _, t := range r.Targets {
			in.Target = t
			all = append(all, in)
		}
		for _, why := range otherReasons[r.On] {
			in.Reason = why
			all = append(all, in)
		}
	}
	return all
}

// arrivals returns the moments at which an event may arrive. Circumstances
// last as long as they can hold; some begin with the event.
func (w *walker) arrivals(m moment, on Event, n State) []moment {
	n.Attempt = min(n.Attempt, 1)
	if !slices.Contains(w.reasons, n.Reason) {
		n.Reason = ReasonNone
	}
	to := moment{now: n}
	if w.prior {
		if to.prior = n; n.Leaving() {
			to.prior = m.prior
		}
	}
	var begin []uint
	for i, f := range w.facts {
		switch could, can := slices.Contains(f.in, m.now.Phase), slices.Contains(f.in, n.Phase); {
		case can && could:
			to.facts |= m.facts & (1 << i)
		case can && on == AllReady: // a service may start short of replicas
			begin = append(begin, 1<<i)
		}
	}
	all := []moment{to}
	for _, bit := range begin {
		with := to
		with.facts |= bit
		all = append(all, with)
	}
	if w.tasks && (n.Phase == Starting || n.Phase == Restarting) {
		for _, word := range taskFirst[on] {
			with := to
			with.task = word
			all = append(all, with)
		}
	}
	return all
}

// taskFirst is what a task may say as soon as an event has happened, beside
// nothing.
var taskFirst = map[Event][]string{
	Admit:       {initPattern},
	TaskFail:    {"CrashLoopBackOff"},
	BackoffOver: {"CrashLoopBackOff"},
}

// taskSteps is what a task may say after what while the phase stays: the life
// of a pod as far as it shows.
var taskSteps = []struct {
	in            Phase
	from, to, why string
}{
	{Starting, "", initPattern, "init task begins"},
	{Starting, "", "ErrImagePull", "pull failed"},
	{Starting, "", "Running", "first process runs"},
	{Starting, initPattern, "PodInitializing", "init tasks done"},
	{Starting, initPattern, "Init:Error", "init task failed"},
	{Starting, initPattern, "ErrImagePull", "pull failed"},
	{Starting, "Init:Error", "Init:CrashLoopBackOff", "init task failed again"},
	{Starting, "Init:Error", initPattern, "init task again"},
	{Starting, "Init:CrashLoopBackOff", initPattern, "init task again"},
	{Starting, "PodInitializing", "ErrImagePull", "pull failed"},
	{Starting, "PodInitializing", "Running", "first process runs"},
	{Starting, "ErrImagePull", "ImagePullBackOff", "pull waits"},
	{Starting, "ErrImagePull", "", "image pulled"},
	{Starting, "ImagePullBackOff", "ErrImagePull", "pull failed again"},
	{Starting, "ImagePullBackOff", "", "image pulled"},
	{Starting, "CrashLoopBackOff", "Running", "started again in place"},
	{Starting, "CrashLoopBackOff", "ErrImagePull", "pull failed"},
	{Restarting, "", "CrashLoopBackOff", "waits before it is started again"},
	{Restarting, "CrashLoopBackOff", "", "failed again"},
}

// word is what the dialect says at m; empty before there is a workload.
func (w *walker) word(m moment) string {
	if m.now.Phase == None {
		return ""
	}
	v := View{State: m.now, Prior: m.prior}
	for i, f := range w.facts {
		switch {
		case m.facts&(1<<i) == 0:
		case f.cond == "":
			v.BackendUnreachable = true
		default:
			v.Conditions = append(v.Conditions, f.cond)
		}
	}
	return pattern(w.t.say(v, m.task).Status)
}
