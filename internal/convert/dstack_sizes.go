package convert

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// dstackTime reads 90s, 15m, 2h, 1d, 1w or a number of seconds; off is none.
func dstackTime(v *value) (spec.Duration, bool) {
	if v == nil {
		return 0, false
	}
	text := strings.TrimSpace(v.text())
	switch text {
	case "off", "false", "-1":
		return 0, true
	}
	if weeks, ok := strings.CutSuffix(text, "w"); ok {
		if n, err := strconv.Atoi(weeks); err == nil && n > 0 && n < 5000 {
			return seconds(1) * spec.Duration(n) * 7 * 86400, true
		}
	}
	t, err := spec.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		v.refuse(problemOf(err), hintOf(err))
		return 0, false
	}
	return t, true
}

// ends reads limits and what follows from failures.
func (d *dstackRun) ends() {
	o, doc := d.o, d.doc
	if v := o.take("max_duration"); v != nil {
		if t, ok := dstackTime(v); ok {
			doc.MaxDuration = t
			v.translated("maxDuration", "")
		}
	}
	if v := o.take("stop_duration"); v != nil {
		if t, ok := dstackTime(v); ok && t > 0 {
			doc.GracePeriod = t
			v.translated("gracePeriod", "")
		} else if ok {
			v.lost("a task that does not end is ended")
		}
	}
	if v := o.take("utilization_policy"); v != nil {
		p := v.object()
		window := p.take("time_window")
		if t, ok := dstackTime(window); ok && t > 0 && doc.Resources.GPU.Kind() != spec.NoGPU {
			doc.IdleLimit = t
			v.approximated("idleLimit", "it is ended once none of its GPUs does anything")
		} else {
			v.lost("there is nothing to be idle")
		}
		p.take("min_gpu_utilization")
		p.done(nil, nil, true)
	}
	if v := o.take("retry"); v != nil {
		d.retry(v)
	}
}

// retry reads true, or when it is tried again.
func (d *dstackRun) retry(v *value) {
	if v.t.Scalar() {
		if v.truth() {
			d.doc.Retry.Limit = 10
			v.approximated("retry.limit", "it is tried again 10 times, and waits for room as long as it takes")
		} else {
			v.translated("retry.limit", "")
		}
		return
	}
	o := v.object()
	none := 0
	d.doc.Retry.System = &none
	events := o.take("on_events")
	for _, e := range events.texts() {
		switch e {
		case "error":
			d.doc.Retry.Limit = 10
		case "interruption":
			d.doc.Retry.System = nil
		case "no-capacity":
		default:
			events.refuse(fmt.Sprintf("%q is not an event", shorten(e)), "allowed are no-capacity, interruption and error")
			return
		}
	}
	if d.doc.Retry.Limit > 0 {
		events.approximated("retry.limit", "it is tried again 10 times")
	} else {
		events.translated("retry.system", "")
	}
	if t := o.take("duration"); t != nil {
		t.lost("it is tried again a number of times, for however long")
	}
	o.done(nil, nil, true)
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
func (d *dstackRun) amount(v *value, to string, unit func(string) (spec.Quantity, bool)) spec.Quantity {
	if v == nil {
		return 0
	}
	text := v.t.Text
	if v.t.Kind == spec.TreeMap {
		o := v.object()
		text = o.take("min").text() + ".." + o.take("max").text()
		o.done(nil, nil, true)
	}
	least, bounded := span(text)
	q, ok := unit(least)
	switch {
	case !ok:
		v.refuse(fmt.Sprintf("%q is not an amount", shorten(text)), "write it like 16, 16.. or 8..16")
	case bounded:
		v.approximated(to, "the smaller number is asked for")
	default:
		v.translated(to, "")
	}
	return q
}

// resources reads what each node has.
func (d *dstackRun) resources(v *value) {
	o := v.object()
	if o == nil {
		return
	}
	r := &d.doc.Resources
	if c := o.take("cpu"); c != nil {
		if c.t.Kind == spec.TreeMap && entry(c.t, "count") != nil {
			m := c.object()
			r.CPU = d.amount(m.take("count"), "resources.cpu", plainNumber)
			m.done(nil, nothing{"arch": "the scheduler chooses where it runs"}, true)
		} else {
			text := c.t.Text
			if _, after, arch := strings.Cut(text, ":"); arch {
				copied := *c.t
				copied.Text = after
				c = &value{r: c.r, t: &copied, path: c.path, line: c.line}
			}
			r.CPU = d.amount(c, "resources.cpu", plainNumber)
		}
	}
	if m := o.take("memory"); m != nil {
		r.Memory = d.amount(m, "resources.memory", skyMemory)
	}
	if m := o.take("shm_size"); m != nil {
		q := d.amount(m, "resources.shm", skyMemory)
		if d.doc.Image != "" {
			r.SHM = q
		}
	}
	if g := o.take("gpu"); g != nil {
		d.gpu(g)
	}
	o.done(nothing{"disk": "disk is neither counted nor limited"}, nil, true)
}

func plainNumber(text string) (spec.Quantity, bool) {
	n, err := strconv.Atoi(text)
	return spec.Quantity(n) * 1000, err == nil && n > 0 && n <= 1_000_000
}

// gpu reads [VENDOR:]NAMES[:MEMORY][:COUNT] in any order of its parts, a
// number, or a map.
func (d *dstackRun) gpu(v *value) {
	g, lossy := spec.GPU{Count: 1}, ""
	if v.t.Kind == spec.TreeMap {
		lossy = d.gpuMap(v.object(), &g)
	} else {
		for part := range strings.SplitSeq(v.text(), ":") {
			if why := gpuPart(strings.TrimSpace(part), &g); why != "" {
				lossy = why
			}
		}
	}
	if g.Count < 0 || g.Count > 1024 {
		v.refuse(fmt.Sprintf("%q is not a number of GPUs", shorten(v.t.Text)), "write it like H100:8")
		return
	}
	if g.Count == 0 {
		g = spec.GPU{}
	}
	d.doc.Resources.GPU = g
	if lossy != "" {
		v.approximated("resources.gpu", lossy)
		return
	}
	v.translated("resources.gpu", "on each node")
}

func (d *dstackRun) gpuMap(o *object, g *spec.GPU) (lossy string) {
	if o == nil {
		return ""
	}
	names := o.take("name").texts()
	if len(names) > 0 {
		lossy = gpuPart(strings.Join(names, ","), g)
	}
	if c := o.take("count"); c != nil {
		g.Count = int(d.amount(c, "resources.gpu.count", func(s string) (spec.Quantity, bool) {
			n, err := strconv.Atoi(s)
			return spec.Quantity(n), err == nil && n >= 0 && n <= 1024
		}))
	}
	if m := o.take("memory"); m != nil {
		lossy = "GPUs are chosen by name, not by their memory"
	}
	for _, name := range []string{"total_memory", "compute_capability"} {
		if v := o.take(name); v != nil {
			lossy = "GPUs are chosen by name"
		}
	}
	o.done(nothing{"vendor": "the name says it"}, nil, true)
	return lossy
}

// gpuPart reads one part of a GPU's description and says what of it is lost.
func gpuPart(part string, g *spec.GPU) (lossy string) {
	least, bounded := span(part)
	if n, err := strconv.Atoi(least); err == nil {
		g.Count = n
		if bounded {
			return "the smaller number is asked for"
		}
		return ""
	}
	switch strings.ToLower(part) {
	case "nvidia", "amd", "intel", "":
		return ""
	case "tpu", "google", "tenstorrent":
		g.Count = -1
		return ""
	}
	if isMemory(part) {
		return "GPUs are chosen by name, not by their memory"
	}
	names := strings.Split(part, ",")
	if len(names) > 1 {
		g.Type = ""
		return "any GPU fits"
	}
	if g.Type = gpuModel(names[0]); len(g.Type) != len(names[0]) {
		return "of " + g.Type + " any fits"
	}
	return ""
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
