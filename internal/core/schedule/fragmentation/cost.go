package fragmentation

// sum is what a cost is made of but for the CPU.
type sum struct {
	waste int64 // of the shapes on one GPU
	total int64 // free milli-GPUs
	free  int64 // GPUs that are entirely free
}

// clip brings the free milli-GPUs of a device into 0..1000.
func clip(x int32) int64 { return min(max(int64(x), 0), 1000) }

func clipCPU(cpu int64) int64 { return min(max(cpu, 0), 2*maxNeed) }

// Cost returns the cost of a node of product p with so much CPU (thousandths of
// cores) and so many milli-GPUs free on each healthy device. A node without
// devices costs 0, and so does a full one.
func (m *Model) Cost(cpu int64, free []int32, p Product) int64 {
	cpu = clipCPU(cpu)
	t, l := m.table(p), m.level(cpu)
	s := t.sum(l, free)
	return t.wasted(l, s) + t.partly(l, free, s.total) + m.shortage(cpu, s.total)
}

func (t *table) sum(level int, free []int32) sum {
	row := t.single[level*columns : (level+1)*columns]
	var s sum
	for _, x := range free {
		y := clip(x)
		s.waste += row[y/step]
		s.total += y
		s.free += y / 1000
	}
	s.total = min(s.total, maxTotal)
	return s
}

// wasted is the waste of all shapes but those on parts of several GPUs.
func (t *table) wasted(level int, s sum) int64 {
	saved := int64(0)
	if s.free < wholes {
		saved = t.saved[int64(level)*wholes+s.free]
	} else {
		saved = t.count(level, min(s.free, maxTotal/1000))
	}
	return s.waste + t.several[level]*s.total - saved
}

// partly is what the shapes on parts of several GPUs can use, negative.
func (t *table) partly(level int, free []int32, total int64) int64 {
	var used int64
	for i := range t.parts {
		k := &t.parts[i]
		var fit, left int64
		for _, x := range free {
			y := clip(x)
			left += y % k.milli
			if y >= k.milli {
				fit++
			}
		}
		if fit >= k.devices {
			used += k.count[level] * max(total-left, 0)
		}
	}
	return -used
}

// shortage is the square of the CPU that the free GPUs lack, over what they
// need. The order of the steps keeps it below 2^63.
func (m *Model) shortage(cpu, total int64) int64 {
	need := min(total*m.ratio/1000, maxNeed)
	lack := need - cpu
	if lack <= 0 {
		return 0
	}
	return m.count * m.lack * lack / need * lack / 1000
}

// toll is what a task pays beside the growth of cost: for GPUs that others need
// more, and for the free GPUs that remain on the node, squared; where CPU is
// scarce, free CPU counts as the GPUs it would do for. Before anything
// has arrived the latter alone decides: best fit by GPUs.
func (m *Model) toll(t *table, a Ask, remain, cpu int64) int64 {
	if m.scarce > 0 {
		remain = min(remain+cpu*m.scarce/m.supply, maxTotal)
	}
	load := min(int64(a.Devices)*int64(a.Milli), 1000*maxDevices)
	return t.bias*load/1000 + max(m.count, 1)*remainWeight*(remain*remain/1000)/1000
}

// Delta returns the charge for placing a on a node, growth of the cost and
// tolls, on the devices that make it least; ties go to the device with the least free, then
// to the lowest index. Whole GPUs are taken in order. Their indexes in free are
// written to pick, ascending, unless it is nil; it must then have room for all.
// It reports false if the free CPU or devices do not suffice, or if a asks for
// less than nothing.
func (m *Model) Delta(cpu int64, free []int32, p Product, a Ask, pick []int) (int64, bool) {
	if a.CPU < 0 || a.CPU > cpu || a.Devices < 0 || a.Devices > len(free) || a.Devices > 0 && (a.Milli < 1 || a.Milli > 1000) {
		return 0, false
	}
	if a.Devices == 1 {
		at, delta := m.one(cpu, free, p, a)
		if at >= 0 && pick != nil {
			pick[0] = at
		}
		return delta, at >= 0
	}
	return m.many(cpu, free, p, a, pick)
}

// one is Delta on one device. All candidates leave the node with the same CPU
// and the same total, so only the waste tells them apart.
func (m *Model) one(cpu int64, free []int32, p Product, a Ask) (best int, delta int64) {
	before, after := clipCPU(cpu), clipCPU(cpu-a.CPU)
	t, l := m.table(p), m.level(after)
	s := t.sum(l, free)
	row := t.single[l*columns : (l+1)*columns]
	g := int64(a.Milli)
	best = -1
	var least, bestFree int64
	seen := int64(-1) // the last value tried: equal devices stand side by side
	for i, x := range free {
		y := clip(x)
		if y < g || y == seen {
			continue
		}
		seen = y
		now := sum{waste: s.waste - row[y/step] + row[(y-g)/step], total: s.total - g, free: s.free - y/1000}
		w := t.wasted(l, now)
		if len(t.parts) > 0 {
			w += t.partlyWithout(l, free, i, g, now.total)
		}
		if best < 0 || w < least || w == least && y < bestFree {
			best, least, bestFree = i, w, y
		}
	}
	if best < 0 {
		return -1, 0
	}
	return best, least + m.shortage(after, s.total-g) - m.Cost(before, free, p) + m.toll(t, a, s.total-g, after)
}

// partlyWithout is partly with g taken of device i.
func (t *table) partlyWithout(level int, free []int32, i int, g, total int64) int64 {
	var room [64]int32
	rest := append(room[:0], free...)
	rest[i] = int32(clip(rest[i]) - g)
	return t.partly(level, rest, total)
}

// many is Delta on no device or on several: those are chosen one after another.
func (m *Model) many(cpu int64, free []int32, p Product, a Ask, pick []int) (int64, bool) {
	after := clipCPU(cpu - a.CPU)
	t, l := m.table(p), m.level(after)
	row := t.single[l*columns : (l+1)*columns]
	var room [64]int32
	rest := append(room[:0], free...)
	g := int64(a.Milli)
	for range a.Devices {
		best, least, bestFree := -1, int64(0), int64(0)
		for i, x := range free {
			y := clip(x)
			if y < g || int64(rest[i]) != int64(x) { // the second: it is chosen already
				continue
			}
			w := row[(y-g)/step] - row[y/step]
			if best < 0 || w < least || w == least && y < bestFree {
				best, least, bestFree = i, w, y
			}
		}
		if best < 0 {
			return 0, false
		}
		rest[best] = int32(clip(rest[best]) - g)
	}
	if pick != nil && a.Devices > 0 {
		n := 0
		for i := range free {
			if rest[i] != free[i] {
				pick[n] = i
				n++
			}
		}
	}
	return m.Cost(after, rest, p) - m.Cost(cpu, free, p) + m.toll(t, a, t.sum(l, rest).total, after), true
}
