package dstack

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// durationOf reads 90s, 15m, 2h, 1d, 1w or a number of seconds; off is none.
func durationOf(v *source.Value) (spec.Duration, bool) {
	if v == nil {
		return 0, false
	}
	text := strings.TrimSpace(v.Text())
	switch text {
	case "off", "false", "-1":
		return 0, true
	}
	if weeks, ok := strings.CutSuffix(text, "w"); ok {
		if n, err := strconv.Atoi(weeks); err == nil && n > 0 && n < 5000 {
			return source.Seconds(1) * spec.Duration(n) * 7 * 86400, true
		}
	}
	t, err := spec.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		v.Refuse(source.ProblemOf(err), source.HintOf(err))
		return 0, false
	}
	return t, true
}

// ends reads limits and what follows from failures.
func (d *run) ends() {
	o, doc := d.o, d.doc
	if v := o.Consume("max_duration"); v != nil {
		if t, ok := durationOf(v); ok {
			doc.MaxDuration = t
			v.Translated("maxDuration", "")
		}
	}
	if v := o.Consume("stop_duration"); v != nil {
		if t, ok := durationOf(v); ok && t > 0 {
			doc.GracePeriod = t
			v.Translated("gracePeriod", "")
		} else if ok {
			v.Dropped("a task that does not end is ended")
		}
	}
	if v := o.Consume("utilization_policy"); v != nil {
		p := v.Map()
		window := p.Consume("time_window")
		if t, ok := durationOf(window); ok && t > 0 && doc.Resources.GPU.Kind() != spec.NoGPU {
			doc.IdleLimit = t
			v.Approximated("idleLimit", "it is ended once none of its GPUs does anything")
		} else {
			v.Dropped("there is nothing to be idle")
		}
		p.Consume("min_gpu_utilization")
		p.Finish(nil, nil, true)
	}
	if v := o.Consume("retry"); v != nil {
		d.retry(v)
	}
}

// retry reads true, or when it is tried again.
func (d *run) retry(v *source.Value) {
	if v.Tree.Scalar() {
		if v.Bool() {
			d.doc.Retry.Limit = 10
			v.Approximated("retry.limit", "it is tried again 10 times, and waits for room as long as it takes")
		} else {
			v.Translated("retry.limit", "")
		}
		return
	}
	o := v.Map()
	none := 0
	d.doc.Retry.System = &none
	events := o.Consume("on_events")
	for _, e := range events.Texts() {
		switch e {
		case "error":
			d.doc.Retry.Limit = 10
		case "interruption":
			d.doc.Retry.System = nil
		case "no-capacity":
		default:
			events.Refuse(fmt.Sprintf("%q is not an event", source.Shorten(e)), "allowed are no-capacity, interruption and error")
			return
		}
	}
	if d.doc.Retry.Limit > 0 {
		events.Approximated("retry.limit", "it is tried again 10 times")
	} else {
		events.Translated("retry.system", "")
	}
	if t := o.Consume("duration"); t != nil {
		t.Dropped("it is tried again a number of times, for however long")
	}
	o.Finish(nil, nil, true)
}

// span is the smaller end of a range such as 16.., 8..16 or 4, and whether
// there is a larger one.
func span(text string) (least string, bounded bool) {
	least, most, ranged := strings.Cut(text, "..")
	least, most = strings.TrimSpace(least), strings.TrimSpace(most)
	if least == "" {
		return most, false
	}
	return least, ranged && most != "" && most != least
}

// amount reads the smaller end of a range: what is asked for.
func (d *run) amount(v *source.Value, to string, unit func(string) (spec.Quantity, bool)) spec.Quantity {
	if v == nil {
		return 0
	}
	text := v.Tree.Text
	if v.Tree.Kind == codec.TreeMap {
		o := v.Map()
		text = o.Consume("min").Text() + ".." + o.Consume("max").Text()
		o.Finish(nil, nil, true)
	}
	least, bounded := span(text)
	q, ok := unit(least)
	switch {
	case !ok:
		v.Refuse(fmt.Sprintf("%q is not an amount", source.Shorten(text)), "write it like 16, 16.. or 8..16")
	case q == 0:
		v.Ignored("it may be nothing")
	case bounded:
		v.Translated(to, "the smaller number is asked for")
	default:
		v.Translated(to, "")
	}
	return q
}

// resources reads what each node has.
func (d *run) resources(v *source.Value) {
	o := v.Map()
	if o == nil {
		return
	}
	r := &d.doc.Resources
	if c := o.Consume("cpu"); c != nil {
		if c.Tree.Kind == codec.TreeMap && source.Entry(c.Tree, "count") != nil {
			m := c.Map()
			r.CPU = d.amount(m.Consume("count"), "resources.cpu", plainNumber)
			m.Finish(nil, source.Reasons{"arch": "the scheduler chooses where it runs"}, true)
		} else {
			text := c.Tree.Text
			if _, after, arch := strings.Cut(text, ":"); arch {
				copied := *c.Tree
				copied.Text = after
				c = &source.Value{Reader: c.Reader, Tree: &copied, Path: c.Path, Line: c.Line}
			}
			r.CPU = d.amount(c, "resources.cpu", plainNumber)
		}
	}
	if m := o.Consume("memory"); m != nil {
		r.Memory = d.amount(m, "resources.memory", source.Memory)
	}
	if m := o.Consume("shm_size"); m != nil {
		q := d.amount(m, "resources.shm", source.Memory)
		if d.doc.Image != "" {
			r.SHM = q
		}
	}
	if g := o.Consume("gpu"); g != nil {
		d.gpu(g)
	}
	o.Finish(source.Reasons{"disk": "disk is neither counted nor limited"}, nil, true)
}

func plainNumber(text string) (spec.Quantity, bool) {
	n, err := strconv.Atoi(text)
	return spec.Quantity(n) * 1000, err == nil && n >= 0 && n <= 1_000_000
}

// gpu reads [VENDOR:]NAMES[:MEMORY][:COUNT] in any order of its parts, a
// number, or a map.
func (d *run) gpu(v *source.Value) {
	g, lossy, memory := spec.GPU{Count: 1}, "", ""
	if v.Tree.Kind == codec.TreeMap {
		memory, lossy = d.gpuMap(v.Map(), &g)
	} else {
		for part := range strings.SplitSeq(v.Text(), ":") {
			if part = strings.TrimSpace(part); isMemory(part) {
				memory = part
			} else if why := gpuPart(part, &g); why != "" {
				lossy = why
			}
		}
	}
	if memory != "" {
		g.Type = withMemory(g.Type, memory)
	}
	if g.Count < 0 || g.Count > 1024 {
		v.Refuse(fmt.Sprintf("%q is not a number of GPUs", source.Shorten(v.Tree.Text)), "write it like H100:8")
		return
	}
	if g.Count == 0 {
		g = spec.GPU{}
	}
	d.doc.Resources.GPU = g
	if lossy != "" {
		v.Approximated("resources.gpu", lossy)
		return
	}
	v.Translated("resources.gpu", "on each node")
}

// withMemory are types that have so much memory: those that come in two sizes by the name
// of the larger, where only that has it, and others by how much they are to have.
func withMemory(types, memory string) string {
	least, _ := span(memory)
	q, ok := source.Memory(least)
	if !ok {
		return types
	}
	all := strings.Split(types, "|")
	for i, kind := range all {
		model, _, sized := strings.Cut(kind, "-")
		switch n := source.LargerGPU[model]; {
		case sized || holds(source.SmallestGPU[kind], memory):
		case holds(n, memory):
			all[i] = fmt.Sprintf("%s-%dgb", kind, n)
		default:
			all[i] = strings.TrimSpace(fmt.Sprintf("%s %dgb+", kind, (q.Units()+1<<30-1)>>30))
		}
	}
	return strings.Join(all, "|")
}

// holds reports whether so many GB are so much memory, of a range the smaller.
func holds(gigabytes int, memory string) bool {
	least, _ := span(memory)
	q, ok := source.Memory(least)
	return ok && q.Units() <= int64(gigabytes)<<30
}

// gpuMap reads a map, and returns how much memory each GPU is to have and what
// else of it is lost.
func (d *run) gpuMap(o *source.Map, g *spec.GPU) (memory, lossy string) {
	if o == nil {
		return "", ""
	}
	names := o.Consume("name").Texts()
	if len(names) > 0 {
		lossy = gpuPart(strings.Join(names, ","), g)
	}
	if c := o.Consume("count"); c != nil {
		g.Count = int(d.amount(c, "resources.gpu.count", func(s string) (spec.Quantity, bool) {
			n, err := strconv.Atoi(s)
			return spec.Quantity(n), err == nil && n >= 0 && n <= 1024
		}))
	}
	switch m := o.Consume("memory"); {
	case m == nil:
	case m.Tree.Kind == codec.TreeMap:
		r := m.Map()
		memory = r.Consume("min").Text()
		r.Finish(source.Reasons{"max": "more does no harm"}, nil, true)
	default:
		memory = m.Text()
	}
	for _, name := range []string{"total_memory", "compute_capability"} {
		if v := o.Consume(name); v != nil {
			lossy = "GPUs are chosen by name"
		}
	}
	o.Finish(source.Reasons{"vendor": "the name says it"}, nil, true)
	return memory, lossy
}

// gpuPart reads one part of a GPU's description and says what of it is lost.
func gpuPart(part string, g *spec.GPU) (lossy string) {
	least, _ := span(part)
	if n, err := strconv.Atoi(least); err == nil {
		g.Count = n // of a range the smaller number
		return ""
	}
	switch strings.ToLower(part) {
	case "nvidia", "amd", "intel", "":
		return ""
	case "tpu", "google", "tenstorrent":
		g.Count = -1
		return ""
	}
	var types []string
	for name := range strings.SplitSeq(part, ",") {
		kind, more := source.GPUType(strings.TrimSpace(name))
		if types = append(types, kind); more != "" {
			lossy = "of " + kind + " any fits, not only those of " + more
		}
	}
	g.Type = strings.Join(types, "|")
	return lossy
}

func isMemory(part string) bool {
	least, _ := span(part)
	up := strings.ToUpper(least)
	for _, unit := range []string{"MB", "GB", "TB"} {
		if body, ok := strings.CutSuffix(up, unit); ok && strings.Trim(body, "0123456789. ") == "" {
			return true
		}
	}
	return false
}
