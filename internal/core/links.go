package core

// Link is how close two GPUs of a node are to each other; more is closer.
type Link uint8

// The links, by what connects the two: the interconnect of sockets, host bridges
// of one NUMA node, one host bridge, several PCIe switches, one PCIe switch, and
// NVLinks, by their number.
const (
	LinkSockets Link = 2 * iota
	LinkNUMANode
	LinkHostBridge
	LinkSwitches
	LinkSwitch
	LinkNVLink // one to three
	LinkNVLink4
	LinkNVLink8
	LinkNVLink12
)

// Kind is what connects the two, as a word, and of NVLinks how many there are at least.
func (l Link) Kind() (kind string, links int) {
	switch l = l &^ 1; {
	case l >= LinkNVLink:
		return "nvlink", max(1, 4*int(l-LinkNVLink)/int(LinkNVLink4-LinkNVLink))
	case l == LinkSwitch:
		return "switch", 0
	case l == LinkSwitches:
		return "switches", 0
	case l == LinkHostBridge:
		return "host-bridge", 0
	case l == LinkNUMANode:
		return "numa-node", 0
	}
	return "sockets", 0
}

// Near is a link whose two GPUs are near the same NUMA node as well. What connects
// them counts for more.
func (l Link) Near() Link { return l | 1 }

// Links is how close each device of a node is to each other: for each in the
// order of the node's, one character for each. It is a string, so that nodes can be
// compared; what was made of other devices fits no longer and is not Known.
type Links string

// NewLinks makes a square of links one string.
func NewLinks(square [][]Link) Links {
	var out []byte
	for _, row := range square {
		for _, l := range row {
			out = append(out, 'A'+byte(min(l, LinkNVLink12.Near())))
		}
	}
	return Links(out)
}

// Known reports whether the links are those of so many devices.
func (l Links) Known(devices int) bool { return devices > 0 && len(l) == devices*devices }

// Between is the link of two of so many devices, by their place in the node.
func (l Links) Between(a, b, devices int) Link { return Link(l[a*devices+b] - 'A') }
