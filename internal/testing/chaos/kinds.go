package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
)

// maker makes documents.
type maker struct {
	world    string // marks the processes of this world
	evidence string // where commands write of themselves
	image    string // empty: no containers
	r        *rand.Rand
}

// kinds are what is submitted, by weight.
var kinds = []struct {
	name   string
	weight int
	make   func(*maker, *Entry, map[string]any) (body string)
}{
	{"ok", 5, (*maker).ok},
	{"noisy", 3, (*maker).noisy},
	{"flaky", 4, (*maker).flaky},
	{"long", 5, (*maker).long},
	{"gang", 3, (*maker).gang},
	{"array", 2, (*maker).array},
	{"deaf", 1, (*maker).deaf},
	{"parent", 2, (*maker).parent},
}

// next is another workload of a kind, size and urgency that chance chooses.
func (m *maker) next(name string) *Entry {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := m.r.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n >= 0 {
			continue
		}
		e := &Entry{Name: name, Kind: k.name, Key: m.world + name}
		gpu, milli := m.gpu()
		doc := map[string]any{
			"name": name, "gracePeriod": "8s", "priority": []string{"low", "medium", "medium", "high"}[m.r.IntN(4)],
			"env":       map[string]string{worldEnv: m.world, milliEnv: fmt.Sprint(milli)},
			"resources": map[string]any{"cpu": "50m", "gpu": gpu},
		}
		evidence := m.evidence
		if m.image != "" && m.r.IntN(3) == 0 {
			e.Box, evidence = true, "/evidence/marks"
			doc["image"] = m.image
			doc["volumes"] = []any{map[string]any{"path": "/evidence", "hostPath": filepath.Dir(m.evidence)}}
		}
		body := k.make(m, e, doc)
		doc["command"] = fmt.Sprintf(prologue, evidence) + body
		e.Document, _ = json.Marshal(doc) // of maps, numbers and texts
		return e
	}
	panic("chaos: no kind has this number")
}

// gpu is what of GPUs a task asks for: often one, sometimes more than others
// leave free, sometimes a half.
func (m *maker) gpu() (gpus float64, milli int) {
	switch m.r.IntN(6) {
	case 0, 1:
		return 0, 0
	case 2:
		return 0.5, 500
	case 3:
		return float64(2 + m.r.IntN(3)), 1000
	default:
		return 1, 1000
	}
}

// ok prints a little and ends.
func (m *maker) ok(e *Entry, _ map[string]any) string {
	e.Lines = 1 + m.r.IntN(40)
	return fmt.Sprintf("count %d; end 0", e.Lines)
}

// noisy prints much, in bursts.
func (m *maker) noisy(e *Entry, _ map[string]any) string {
	bursts := 1 + m.r.IntN(4)
	e.Lines = bursts * burst
	return fmt.Sprintf("while [ $I -lt %d ]; do seq $((I+1)) $((I+%d)); I=$((I+%d)); sleep 0.1; done; end 0", e.Lines, burst, burst)
}

// burst is how many lines come from one program at once.
const burst = 4000

// flaky fails once or twice; not always may it try again so often.
func (m *maker) flaky(e *Entry, doc map[string]any) string {
	e.Fails, e.Code, e.Lines = 1+m.r.IntN(2), 3+m.r.IntN(90), 5
	m.retry(e, doc, 1+m.r.IntN(3))
	return fmt.Sprintf("count 5; [ $MUSTER_ATTEMPT -ge %d ] || end %d; sleep 0.1; end 0", e.Fails, e.Code)
}

// long goes on for some seconds, often until somebody ends it.
func (m *maker) long(e *Entry, doc map[string]any) string {
	e.Lines = 5 + m.r.IntN(50)
	m.retry(e, doc, m.r.IntN(2))
	return fmt.Sprintf("while [ $I -lt %d ]; do I=$((I+1)); echo $I; sleep 0.1; done; end 0", e.Lines)
}

// gang has ranks that start together; sometimes one fails at first.
func (m *maker) gang(e *Entry, doc map[string]any) string {
	e.Lines = 3 + m.r.IntN(10)
	doc["kind"], doc["workers"] = "distributed", 2+m.r.IntN(3)
	m.retry(e, doc, 2)
	doc["resources"] = map[string]any{"cpu": "50m", "gpu": 1}
	doc["env"].(map[string]string)[milliEnv] = "1000"
	fail := ""
	if m.r.IntN(3) == 0 {
		e.Fails, e.Code = 1, 9
		fail = "[ $MUSTER_ATTEMPT$RANK != 01 ] || end 9; "
	}
	return fmt.Sprintf("count 2; sleep 0.1; %swhile [ $I -lt %d ]; do I=$((I+1)); echo $I; sleep 0.1; done; end 0", fail, e.Lines)
}

// array has tasks that come one after another, as there is room.
func (m *maker) array(e *Entry, doc map[string]any) string {
	e.Lines = 5
	doc["array"] = map[string]any{"completions": 2 + m.r.IntN(4), "parallelism": 2}
	return "count 5; sleep 0.1; end 0"
}

// deaf does not hear that it is to end.
func (m *maker) deaf(e *Entry, doc map[string]any) string {
	e.Lines, e.Deaf = 30+m.r.IntN(30), true
	doc["gracePeriod"] = "1s"
	return fmt.Sprintf("trap '' TERM; while [ $I -lt %d ]; do I=$((I+1)); echo $I; sleep 0.1; done; end 0", e.Lines)
}

// parent leaves others behind that would live on.
func (m *maker) parent(e *Entry, _ map[string]any) string {
	e.Lines = 3 + m.r.IntN(10)
	return fmt.Sprintf("(trap '' HUP TERM; while :; do sleep 1000; done) >/dev/null 2>&1 &\nwhile [ $I -lt %d ]; do I=$((I+1)); echo $I; sleep 0.1; done; end 0", e.Lines)
}

func (m *maker) retry(e *Entry, doc map[string]any, limit int) {
	e.Retries = limit
	doc["retry"] = map[string]any{"limit": limit, "backoff": "50ms"}
}
