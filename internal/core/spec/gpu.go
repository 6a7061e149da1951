package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// GPU is what one task needs of GPUs: whole ones, the same part of each of
// several, or partitions. A bare number in a document is Count where it is
// whole, else Share.
type GPU struct {
	Count  int      `json:"count,omitempty" doc:"Whole GPUs; beside share or memory, how many GPUs of one node that part is taken of, by default one." example:"8" min:"0" max:"1024"`
	Type   string   `json:"type,omitempty" doc:"Only GPUs whose product name contains each of these words, whatever the case and whatever stands between them; several types with | between: any of them. A word like 24GB+ is the memory that it has at least." example:"h100"`
	Share  Share    `json:"share,omitempty" doc:"Part of each GPU, between 0 and 1 in steps of 0.001; others may have the rest." example:"0.5" min:"0.001" max:"0.999"`
	Memory Quantity `json:"memory,omitempty" doc:"Bytes of each GPU's memory instead of a share." example:"8Gi" min:"1Mi"`
	// What may be used beyond the part while others leave it unused. It is
	// neither booked nor charged.
	ShareLimit  ShareLimit `json:"shareLimit,omitempty" doc:"Up to which part of each GPU it may use more than its share while there is room on the GPU: from share to 1, which is all of it. The share alone is booked, counts against quotas and is promised. By default the share." example:"0.8" min:"0.001" max:"1"`
	MemoryLimit Quantity   `json:"memoryLimit,omitempty" doc:"Up to how many bytes of each GPU's memory it may use while there is room on the GPU: memory or more; what the GPU has not is not given. By default memory." example:"16Gi" min:"1Mi"`
	MIG         MIG        `json:"mig,omitempty" doc:"Static partitions by profile: one profile, or a map of profile to number. They stand instead of count, share and memory." example:"1g.10gb"`
}

// OfType reports whether a product is of a type that is asked for: its name contains each
// word of it, or of one of several with | between. Words are divided by spaces, -
// and _, which names of one product have or have not: A100-80GB is NVIDIA A100-SXM4-80GB,
// and RTX4090 is NVIDIA GeForce RTX 4090. The word 24GB+ is for a GPU with so many
// bytes at least, as products are named: in powers of 1000. 0 bytes are not known.
func OfType(product string, bytes int64, want string) bool {
	if want == "" || product == want {
		return true
	}
	name := typeGap.Replace(strings.ToLower(product))
	for one := range strings.SplitSeq(strings.ToLower(want), "|") {
		fits := true
		for word := range strings.FieldsFuncSeq(one, betweenWords) {
			if least, is := atLeast(word); is {
				fits = fits && bytes >= least
			} else {
				fits = fits && strings.Contains(name, word)
			}
		}
		if fits {
			return true
		}
	}
	return false
}

// atLeast are the bytes of a word like 24gb+.
func atLeast(word string) (int64, bool) {
	text, is := strings.CutSuffix(word, "gb+")
	n, err := strconv.ParseInt(text, 10, 32)
	return n * 1_000_000_000, is && err == nil
}

var typeGap = strings.NewReplacer(" ", "", "-", "", "_", "")

func betweenWords(c rune) bool { return c == ' ' || c == '-' || c == '_' }

// GPUKind says in which way GPUs are asked for.
type GPUKind uint8

// The ways to ask for GPUs.
const (
	NoGPU     GPUKind = iota
	WholeGPU          // Count devices that nobody else has
	ShareGPU          // Share of each of Count devices
	MemoryGPU         // Memory of each of Count devices
	MIGGPU            // the partitions of MIG
)

// Kind is the way in which g asks. Of a document that contradicts itself it is
// the last of the ways that it asks in.
func (g GPU) Kind() GPUKind {
	switch {
	case g.MIG != "":
		return MIGGPU
	case g.Memory > 0:
		return MemoryGPU
	case g.Share > 0:
		return ShareGPU
	case g.Count > 0:
		return WholeGPU
	default:
		return NoGPU
	}
}

// Milli is what is taken of each device, in thousandths: 1000 of a whole one.
// It is 0 for memory and partitions, since what they are of a device is known
// only once they have one, and where there are no GPUs.
func (g GPU) Milli() int {
	switch g.Kind() {
	case WholeGPU:
		return 1000
	case ShareGPU:
		return int(g.Share)
	default:
		return 0
	}
}

// Devices is how many devices the task sees: whole ones, ones that it has a
// part of, or partitions.
func (g GPU) Devices() int {
	switch g.Kind() {
	case MIGGPU:
		return g.MIG.Partitions()
	case ShareGPU, MemoryGPU:
		return max(1, g.Count)
	default:
		return g.Count
	}
}

// TotalMilli is what g takes of all devices together, in thousandths, as far
// as the document tells: memory counts as the whole device, and a partition as
// many devices as its profile has slices, which is how quotas count it.
func (g GPU) TotalMilli() int64 {
	switch g.Kind() {
	case ShareGPU:
		return int64(g.Devices()) * int64(g.Share)
	case MIGGPU:
		return g.MIG.slices() * 1000
	default:
		return int64(g.Devices()) * 1000
	}
}

// Words is g for people, such as "2 GPUs h100", "0.5 of a GPU" or "1g.10gb";
// empty where there are none.
func (g GPU) Words() string {
	n := g.Devices()
	of := "a GPU"
	if n > 1 {
		of = fmt.Sprintf("each of %d GPUs", n)
	}
	var s string
	switch g.Kind() {
	case NoGPU:
		return ""
	case MIGGPU:
		s = string(g.MIG)
		if n == 1 {
			s = strings.TrimSuffix(s, "=1")
		}
	case MemoryGPU:
		s = upTo(g.Memory.String(), g.MemoryLimit.String(), g.Bursts()) + " of " + of
	case ShareGPU:
		s = upTo(g.Share.String(), g.ShareLimit.String(), g.Bursts()) + " of " + of
	default:
		s = strings.TrimPrefix(of, "each of ")
		if n == 1 {
			s = "1 GPU"
		}
	}
	if g.Type != "" {
		s += " " + g.Type
	}
	return s
}

func upTo(part, limit string, more bool) string {
	if more {
		part += " up to " + limit
	}
	return part
}

// Bursts reports whether g may use more of its devices than it is promised.
func (g GPU) Bursts() bool {
	return g.Kind() == ShareGPU && int(g.ShareLimit) > int(g.Share) || g.Kind() == MemoryGPU && g.MemoryLimit > g.Memory
}

// LimitMilli is up to how many thousandths of a device with that many bytes
// of memory g may use: 1000 of a whole one, 0 where there are no GPUs or only
// partitions.
func (g GPU) LimitMilli(memory int64) int {
	switch {
	case g.Kind() == ShareGPU && g.Bursts():
		return int(g.ShareLimit)
	case g.Kind() != MemoryGPU:
		return g.Milli()
	case memory <= 0:
		return 1000
	}
	// In floating point, since bytes times 1000 may be more than an int64 holds.
	return int(min(max(float64(max(g.Memory, g.MemoryLimit).Units())*1000/float64(memory), 1), 1000))
}

// complete fills in that a part without a number of GPUs is of one, so that
// Count can be relied on.
func (g *GPU) complete() {
	if k := g.Kind(); g.Count == 0 && (k == ShareGPU || k == MemoryGPU) {
		g.Count = 1
	}
}

// Complete fills in of how many GPUs a part is, when g was read of n. That there are
// none of which something is taken can be seen only here.
func (g *GPU) Complete(n *codec.Node) (refused int, e codec.FieldError) {
	before := g.Count
	g.complete()
	if before == g.Count || n.Kind != codec.NodeMap {
		return -1, e
	}
	for i, key := range n.Keys {
		if key == "count" && n.Items[i].Kind == codec.NodeNumber {
			return i, codec.FieldError{Value: n.Items[i].Text, Problem: "is 0 beside share or memory", Hint: "write of how many GPUs, or leave it out for one"}
		}
	}
	return -1, e
}

// Shorten is n, which g was written to, without the number that complete
// fills in.
func (g *GPU) Shorten(n codec.Node) codec.Node {
	if k := g.Kind(); g.Count == 1 && (k == ShareGPU || k == MemoryGPU) && len(n.Keys) > 0 && n.Keys[0] == "count" {
		n.Keys, n.Items = n.Keys[1:], n.Items[1:]
	}
	return n
}
