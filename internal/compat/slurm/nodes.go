package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// gresUsed is a field of sinfo that has a long name only.
const gresUsed = 1

// nodeWord is the state of a node, long and short.
type nodeWord struct {
	long, short string
	out         bool // it takes nothing
}

func nodeState(n api.Node) nodeWord {
	switch {
	case !n.Ready, n.CutOff:
		return nodeWord{"down", "down", true}
	case (n.Draining || n.Cordoned) && n.Tasks > 0:
		return nodeWord{"draining", "drng", true}
	case n.Draining, n.Cordoned:
		return nodeWord{"drained", "drain", true}
	case n.Tasks == 0:
		return nodeWord{"idle", "idle", false}
	case n.GPU.Total > 0 && n.GPU.Used >= n.GPU.Total, n.CPU.Used >= n.CPU.Total:
		return nodeWord{"allocated", "alloc", false}
	}
	return nodeWord{"mixed", "mix", false}
}

// nodeGroup is nodes that one line is about.
type nodeGroup []api.Node

// natural orders names by the numbers at their ends: n2 before n10.
func natural(a, b string) int {
	x, y := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if x != y {
		return strings.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

var nodeTitles = map[byte]string{
	gresUsed: "GRES_USED",
	'P':      "PARTITION", 'R': "PARTITION", 'a': "AVAIL", 'l': "TIMELIMIT", 'D': "NODES", 't': "STATE", 'T': "STATE", 'N': "NODELIST", 'n': "HOSTNAMES",
	'c': "CPUS", 'C': "CPUS(A/I/O/T)", 'm': "MEMORY", 'e': "FREE_MEM", 'G': "GRES", 'F': "NODES(A/I/O/T)", 'A': "NODES(A/I)", 'E': "REASON",
	'f': "AVAIL_FEATURES", 'b': "ACTIVE_FEATURES", 'O': "CPU_LOAD", 'z': "S:C:T", 'w': "WEIGHT", 's': "JOB_SIZE", 'r': "ROOT", 'h': "OVERSUBS", 'g': "GROUPS",
	'S': "ALLOCNODES", 'p': "PRIO_TIER", 'H': "TIMESTAMP", 'u': "USER", 'B': "MAX_CPUS_PER_NODE", 'X': "SOCKETS", 'Y': "CORES", 'Z': "THREADS", 'd': "TMP_DISK",
}

func (g nodeGroup) value(letter byte) (string, bool) {
	n := g[0]
	switch letter {
	case gresUsed:
		return g.used(), true
	case 'P':
		if n.Pool == "default" {
			return n.Pool + "*", true
		}
		return n.Pool, true
	case 'R':
		return n.Pool, true
	case 'a':
		return "up", true
	case 'l':
		return "infinite", true
	case 'D':
		return strconv.Itoa(len(g)), true
	case 't':
		return nodeState(n).short, true
	case 'T':
		return nodeState(n).long, true
	case 'N', 'n':
		var names []string
		for _, n := range g {
			names = append(names, n.Name)
		}
		return terms.Hosts(names), true
	case 'c':
		return strconv.FormatInt(n.CPU.Total/1000, 10), true
	case 'm':
		return strconv.FormatInt(n.Memory.Total>>20, 10), true
	case 'e':
		return strconv.FormatInt((n.Memory.Total-n.Memory.Used)>>20, 10), true
	case 'G':
		return gres(n), true
	case 'C':
		return g.cpus(), true
	case 'F', 'A':
		return g.counts(letter == 'F'), true
	}
	return g.more(letter)
}

func (g nodeGroup) more(letter byte) (string, bool) {
	n := g[0]
	switch letter {
	case 'E':
		return cmp.Or(n.Note, n.Message, "none"), true
	case 'f', 'b':
		return cmp.Or(g.labels(), "(null)"), true
	case 'O', 'H':
		return "N/A", true
	case 'z':
		return fmt.Sprintf("1:%d:1", n.CPU.Total/1000), true
	case 'X', 'Z', 'w', 'p':
		return "1", true
	case 'Y':
		return strconv.FormatInt(n.CPU.Total/1000, 10), true
	case 's':
		return "1-infinite", true
	case 'r', 'h':
		return "no", true
	case 'g', 'S':
		return "all", true
	case 'u':
		return "-", true
	case 'B':
		return "UNLIMITED", true
	case 'd':
		return "0", true
	}
	return "", false
}

// gres is a node's GPUs: gpu:h100:8.
func gres(n api.Node) string {
	if len(n.Devices) == 0 {
		return "(null)"
	}
	return fmt.Sprintf("gpu:%s:%d", strings.ReplaceAll(strings.ToLower(n.Devices[0].Product), " ", "_"), len(n.Devices))
}

func (g nodeGroup) cpus() string {
	var used, idle, other, total int64
	for _, n := range g {
		t := n.CPU.Total / 1000
		u := min((n.CPU.Used+999)/1000, t)
		total, used = total+t, used+u
		if nodeState(n).out {
			other += t - u
		} else {
			idle += t - u
		}
	}
	return fmt.Sprintf("%d/%d/%d/%d", used, idle, other, total)
}

func (g nodeGroup) counts(all bool) string {
	var held, idle, other int
	for _, n := range g {
		switch s := nodeState(n); {
		case s.out:
			other++
		case s.long == "idle":
			idle++
		default:
			held++
		}
	}
	if !all {
		return fmt.Sprintf("%d/%d", held, idle)
	}
	return fmt.Sprintf("%d/%d/%d/%d", held, idle, other, len(g))
}

// used are the devices of a node that are held, by their kind and index.
func (g nodeGroup) used() string {
	n := g[0]
	if len(n.Devices) == 0 {
		return "(null)"
	}
	var held []int
	for _, d := range n.Devices {
		if d.Used > 0 {
			held = append(held, d.Index)
		}
	}
	which := "N/A"
	if len(held) > 0 {
		which = terms.Fold(held)
	}
	return fmt.Sprintf("%s:%d(IDX:%s)", strings.TrimSuffix(gres(n), fmt.Sprintf(":%d", len(n.Devices))), len(held), which)
}

// labels are the labels of a node, as features; "" where it has none.
func (g nodeGroup) labels() string {
	var words []string
	for k, v := range g[0].Labels {
		words = append(words, k+"="+v)
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}
