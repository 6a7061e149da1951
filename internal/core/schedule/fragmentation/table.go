package fragmentation

import "slices"

// Free milli-GPUs are looked up in steps of 10, rounded down; a GPU has no more
// than 1000.
const (
	step    = 10
	columns = 1000/step + 1
	// Free GPUs of one node are looked up as far as this and computed beyond.
	wholes = 17
)

// table is the waste of a node's free capacity by how many levels of CPU it has
// left, for the kinds of node that are the same to all shapes with a claim.
//
// The shapes on one GPU are a sum over GPUs of single[level][free milli]. Those
// on several whole GPUs waste all that is free (several[level] times) but
// saved[level][free GPUs]. Those on parts of several GPUs are rare and counted
// one by one.
type table struct {
	single  []int64
	several []int64
	saved   []int64
	kinds   []kind
	parts   []kind
	press   int64
	bias    int64 // what press adds to the cost of taking one GPU
}

// kind is all shapes of equal GPUs, with their summed weights by level.
type kind struct {
	devices int64
	milli   int64
	count   []int64 // that fit, by level
}

// setTables makes one table for each set of kinds that are the same to all
// shapes with a claim.
func (m *Model) setTables(work []Shape) {
	m.group = make([]int32, len(m.cluster)+1)
	keys := map[string]int32{}
	for p := range m.group {
		claims := make([]byte, len(work))
		for i := range work {
			if p > 0 && work[i].claims && m.cluster[p-1].holds(&work[i]) {
				claims[i] = 1
			}
		}
		at, ok := keys[string(claims)]
		if !ok {
			at = int32(len(m.tables))
			keys[string(claims)] = at
			m.tables = append(m.tables, m.newTable(work, claims))
		}
		m.group[p] = at
	}
}

// table returns the table of p; one that is out of range counts as 0.
func (m *Model) table(p Product) *table {
	if p < 0 || int(p) >= len(m.group) {
		p = 0
	}
	return &m.tables[m.group[p]]
}

func (m *Model) newTable(work []Shape, claims []byte) table {
	levels := len(m.levels) + 1
	t := table{single: make([]int64, levels*columns), several: make([]int64, levels), saved: make([]int64, levels*wholes)}
	// First as if nothing fitted: everything free is wasted.
	var one, more int64
	for i := range work {
		if work[i].Devices == 1 {
			one += work[i].weight()
		} else {
			more += work[i].weight()
		}
	}
	for l := range levels {
		t.several[l] = more
		for x := range int64(columns) {
			t.single[int64(l)*columns+x] = one * x * step
		}
	}
	// Then each shape gives back what it can use, from its level on.
	for i := range work {
		s := &work[i]
		if len(s.Models) > 0 && claims[i] == 0 {
			continue
		}
		from := m.needs(s.CPU)
		switch {
		case s.Devices == 1:
			g := int64(s.Milli)
			for x := range int64(columns) {
				t.single[int64(from)*columns+x] -= s.weight() * (x * step / g * g)
			}
		case s.Milli == 1000:
			add(&t.kinds, s, from, levels)
		default:
			add(&t.parts, s, from, levels)
		}
	}
	t.accumulate(one, levels)
	t.press = m.pressure(work, claims)
	t.bias = m.count * pressWeight * t.press / 1000
	return t
}

// add counts s among its kind.
func add(kinds *[]kind, s *Shape, from, levels int) {
	at := slices.IndexFunc(*kinds, func(k kind) bool { return k.devices == int64(s.Devices) && k.milli == int64(s.Milli) })
	if at < 0 {
		at = len(*kinds)
		*kinds = append(*kinds, kind{devices: int64(s.Devices), milli: int64(s.Milli), count: make([]int64, levels)})
	}
	(*kinds)[at].count[from] += s.weight()
}

// accumulate turns what each level adds into what all levels up to it add.
func (t *table) accumulate(one int64, levels int) {
	for _, kinds := range [][]kind{t.kinds, t.parts} {
		for i := range kinds {
			for l := 1; l < levels; l++ {
				kinds[i].count[l] += kinds[i].count[l-1]
			}
		}
	}
	for l := 1; l < levels; l++ {
		for x := range int64(columns) {
			gave := t.single[int64(l)*columns+x] - one*x*step
			t.single[int64(l)*columns+x] = t.single[int64(l-1)*columns+x] + gave
		}
	}
	for l := range levels {
		for nf := range int64(wholes) {
			t.saved[int64(l)*wholes+nf] = t.count(l, nf)
		}
	}
}

// count is what the shapes on several whole GPUs can use of free ones.
func (t *table) count(level int, free int64) int64 {
	var sum int64
	for i := range t.kinds {
		k := &t.kinds[i]
		sum += k.count[level] * (free / k.devices * k.devices * 1000)
	}
	return sum
}

// pressure is the load of the shapes with a claim on the kinds of a table, each
// over all GPUs that could hold it, relative to all load over all GPUs, in
// thousandths.
func (m *Model) pressure(work []Shape, claims []byte) int64 {
	var all, gpus, wanted int64
	for i := range m.cluster {
		gpus += m.cluster[i].amount()
	}
	for i := range work {
		s := &work[i]
		load := s.Count * s.load()
		all += load
		if claims[i] == 1 {
			wanted += (load << 20) / max(s.fit, 1)
		}
	}
	if all == 0 {
		return 0
	}
	// One expression without a sum: the same on every machine.
	return int64(min(float64(wanted)/float64(all)*float64(gpus)*1000/(1<<20), maxPress))
}
