package slurm

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

const (
	usualNodes   = "%9P %.5a %.10l %.6D %.6t %N"
	longNodes    = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
	summaryNodes = "%9P %.5a %.10l %.16F %N"
	eachNode     = "%16N %.6D %.9P %.11T"
	eachNodeLong = "%16N %.6D %.9P %.11T %.4c %.8m %.20G %.20E"
	whyNodes     = "%20E %9u %19H %N"
)

// Sinfo is sinfo.
func Sinfo() *compat.Command {
	return &compat.Command{
		Use: "sinfo", Words: &terms.Words, Short: "Nodes and partitions, which are pools here", Loose: true,
		Long: `Lists nodes by pool. Fields of --format: %P %R pool, %a whether it is up, %l time
limit, %D number of nodes, %t %T state, %N %n nodes by name, %c CPUs, %C CPUs
allocated/idle/other/total, %m memory in MB, %e free memory, %G GPUs, %F nodes
allocated/idle/other/total, %A allocated/idle, %E why a node is out, %f features,
%O load, %z sockets, %w weight, %s %r %h %g %S %p %H %u %B %X %Y %Z %d.
` + listing("sinfo"),
		Flags: []compat.Flag{
			{Names: "all a", Void: "every pool is always listed."},
			{Names: "clusters M", Arg: "NAMES", Many: true, Does: "only nodes of these clusters"},
			{Names: "cluster", Arg: "NAMES", Many: true, Does: "the same"},
			{Names: "dead d", Does: "only nodes that do not answer"},
			{Names: "exact e", Void: "nodes are put together only where all that is shown is the same."},
			{Names: "federation", Void: "there is one server for all clusters."},
			{Names: "format o", Arg: "FORMAT", Does: "fields, such as \"%P %D %t\""},
			{Names: "Format O", Arg: "FIELDS", Does: "fields by their long names, such as \"NodeHost,Gres:30,GresUsed:30\""},
			{Names: "future F", Void: "there are no nodes to come."},
			{Names: "hide", Void: "every pool is visible."},
			{Names: "iterate i", Arg: "SECONDS", Does: "list again and again"},
			{Names: "json", Does: "as JSON"},
			{Names: "yaml", Does: "as YAML"},
			{Names: "list-reasons R", Does: "why nodes take nothing"},
			{Names: "local", Void: "there is one server for all clusters."},
			{Names: "long l", Does: "more columns"},
			{Names: "noconvert", Void: "numbers are never rounded."},
			{Names: "Node N", Does: "a line for each node"},
			{Names: "nodes n", Arg: "NODES", Many: true, Does: "only these nodes"},
			{Names: "noheader h", Does: "no line of titles"},
			{Names: "partition p", Arg: "NAMES", Many: true, Does: "only these pools"},
			{Names: "reservation T", Does: "reservations, instead of nodes"},
			{Names: "responding r", Does: "only nodes that answer"},
			{Names: "sort S", Arg: "FIELDS", Void: "lines are by pool, then by state."},
			{Names: "states t", Arg: "STATES", Many: true, Does: "only nodes in these states"},
			{Names: "summarize s", Does: "a line for each pool"},
			{Names: "usage", Void: "--help says it."},
			{Names: "verbose v", Void: "there is nothing more to tell."},
			terms.Version,
		},
		Run: func(c *compat.Call) error {
			if done, err := terms.Asked(c); done {
				return err
			}
			if c.Bool("reservation") {
				return iterate(c, reservationTable)
			}
			return iterate(c, sinfo)
		},
	}
}

func nodeFormat(c *compat.Call) string {
	switch {
	case c.Given("format"):
		return c.Text("format")
	case c.Bool("list-reasons"):
		return whyNodes
	case c.Bool("Node") && c.Bool("long"):
		return eachNodeLong
	case c.Bool("Node"):
		return eachNode
	case c.Bool("summarize"):
		return summaryNodes
	case c.Bool("long"):
		return longNodes
	}
	return usualNodes
}

func sinfo(c *compat.Call) error {
	fields, after, err := fieldsOf(c, "sinfo", nodeFormat(c))
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	list, err := conn.Nodes.List(c.Context)
	if err != nil {
		return err
	}
	nodes := slices.DeleteFunc(list.Items, func(n api.Node) bool { return !wantedNode(c, n) })
	if done, err := terms.Structured(c, nodesJSON(c, nodes)); done {
		return err
	}
	if !c.Bool("noheader") {
		if err := write(c.Out(), fields, after, func(l byte) (string, bool) { t, ok := nodeTitles[l]; return t, ok }); err != nil {
			return err
		}
	}
	for _, g := range groups(c, nodes, fields) {
		if err := write(c.Out(), fields, after, g.value); err != nil {
			return err
		}
	}
	return nil
}

func wantedNode(c *compat.Call, n api.Node) bool {
	in := func(flag, value string) bool {
		list := c.List(flag)
		return len(list) == 0 || slices.Contains(list, value)
	}
	s := nodeState(n)
	return in("partition", n.Pool) && in("nodes", n.Name) && in("clusters", n.Backend) && in("cluster", n.Backend) &&
		(!c.Bool("dead") || !n.Ready) && (!c.Bool("responding") || n.Ready) &&
		(!c.Bool("list-reasons") || s.out) &&
		(!c.Given("states") || slices.ContainsFunc(c.List("states"), func(t string) bool {
			return strings.EqualFold(t, s.long) || strings.EqualFold(t, s.short) || strings.HasPrefix(s.long, strings.ToLower(t)) && len(t) > 3
		}))
}

// groups puts nodes together of which the same would be printed. The names of
// nodes, and their number, do not count.
func groups(c *compat.Call, nodes []api.Node, fields []field) []nodeGroup {
	slices.SortStableFunc(nodes, func(a, b api.Node) int {
		return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(nodeState(a).long, nodeState(b).long), natural(a.Name, b.Name))
	})
	var out []nodeGroup
	var keys []string
	for _, n := range nodes {
		key := n.Pool
		switch {
		case c.Bool("Node"):
			key = n.Name
		case !c.Bool("summarize"):
			for _, f := range fields {
				if !strings.ContainsRune("NDFAC", rune(f.letter)) {
					text, _ := nodeGroup{n}.value(f.letter)
					key += "\x00" + text
				}
			}
		}
		if i := slices.Index(keys, key); i >= 0 {
			out[i] = append(out[i], n)
			continue
		}
		keys, out = append(keys, key), append(out, nodeGroup{n})
	}
	return out
}
