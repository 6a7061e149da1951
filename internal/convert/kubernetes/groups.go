package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// replica is one group of equal pods of a gang.
type replica struct {
	role    string
	count   int
	doc     *spec.Document
	restart *source.Value
	at      *source.Value
	again   int      // how often a pod of it is tried again
	first   int      // rank of its first task
	jobs    int      // of how many jobs its pods are; 0: it has none
	waits   []waits  // for which groups it waits
	before  []string // lines of the shell that its command needs
}

// waits is that a group waits for another.
type waits struct {
	group string
	done  bool // until that has come to its end
	at    *source.Value
}

// ranked gives groups their ranks: one after another, in their order.
func ranked(groups []*replica) {
	n := 0
	for _, g := range groups {
		g.first = n
		n += g.count
	}
}

// leading puts the group that decides, or else a single pod that needs
// something else than the others, before the others: the first task of a gang
// is its master, and the only one that may need something else.
func leading(groups []*replica, decides string) []*replica {
	at := slices.IndexFunc(groups, func(g *replica) bool { return g.role == decides })
	if at < 0 && len(groups) > 1 && groups[0].count > 1 {
		at = slices.IndexFunc(groups, func(g *replica) bool { return g.count == 1 })
	}
	if at <= 0 {
		return groups
	}
	return slices.Concat(groups[at:at+1], groups[:at], groups[at+1:])
}

// gang makes one gang of the groups, or says why there can be none.
func (k *reader) gang(groups []*replica) (*spec.Document, string) {
	for _, g := range groups {
		fromFirst(k, g)
		k.scripted(g.doc, g.before, g.at)
	}
	first := groups[0]
	if len(groups) == 1 {
		first.doc.Workers = first.count
		return first.doc, ""
	}
	if why := apart(groups); why != "" {
		return nil, why
	}
	if len(groups) == 2 && first.count == 1 {
		return mergeGroups(first, groups[1]), ""
	}
	return byRank(groups)
}

// apart says why groups cannot be one gang: what all tasks but the first of
// one have to have in common. Volumes, secrets and labels they have together.
func apart(groups []*replica) string {
	base := groups[len(groups)-1]
	for i, g := range groups[:len(groups)-1] {
		a, b := g.doc, base.doc
		switch {
		case a.Image != b.Image && (i > 0 || g.count > 1):
			return fmt.Sprintf("%s has the image %s and %s another", g.role, source.Shorten(a.Image), base.role)
		case !a.Resources.Equal(b.Resources) && (i > 0 || g.count > 1):
			return fmt.Sprintf("%s needs other resources than %s", g.role, base.role)
		case i > 0 && (!maps.Equal(a.NodeSelector, b.NodeSelector) || !slices.Equal(a.Tolerations, b.Tolerations)):
			return fmt.Sprintf("%s and %s go to different nodes", g.role, base.role)
		}
	}
	return ""
}

// byRank makes one gang whose tasks run, by their ranks, what their group does.
func byRank(groups []*replica) (*spec.Document, string) {
	last := groups[len(groups)-1]
	gang := last.doc
	gang.Workers = last.first + last.count
	if !slices.ContainsFunc(groups, func(g *replica) bool { return !alike(g.doc, gang) }) {
		return gang, ""
	}
	var b strings.Builder
	for i, g := range groups {
		argv := append(slices.Clone(g.doc.Command.Argv), g.doc.Args...)
		if len(g.doc.Command.Argv) == 0 {
			return nil, g.role + " has no command of its own"
		}
		body := scriptOf(argv)
		if body == "" {
			words := make([]string, len(argv))
			for i, a := range argv {
				words[i] = quote(a)
			}
			body = "exec " + strings.Join(words, " ") + "\n"
		}
		for _, name := range slices.Sorted(maps.Keys(g.doc.Env)) {
			if !common(groups, name, g.doc.Env[name]) {
				body = "export " + name + "=" + quote(g.doc.Env[name]) + "\n" + body
			}
		}
		if i == len(groups)-1 {
			fmt.Fprintf(&b, "# %s\n%s", g.role, body)
			break
		}
		fmt.Fprintf(&b, "# %s\nif [ \"$NODE_RANK\" -lt %d ]; then\n%sfi\n", g.role, g.first+g.count, body)
	}
	gang.Env = maps.Clone(gang.Env)
	maps.DeleteFunc(gang.Env, func(name, text string) bool { return !common(groups, name, text) })
	if len(gang.Env) == 0 {
		gang.Env = nil
	}
	for i, g := range groups[:len(groups)-1] {
		shared(gang, g.doc)
		if i == 0 && !g.doc.Resources.Equal(gang.Resources) {
			r := g.doc.Resources
			gang.Master = &spec.Master{Resources: &r}
		}
		if i == 0 && g.doc.Image != gang.Image {
			if gang.Master == nil {
				gang.Master = &spec.Master{}
			}
			gang.Master.Image = g.doc.Image
		}
		if g.doc.MaxDuration > 0 {
			gang.MaxDuration = shorter(gang.MaxDuration, g.doc.MaxDuration)
		}
		g.at.Translated("command", "tasks run by their rank what their group does")
	}
	gang.Command, gang.Args = spec.Command{Argv: []string{"/bin/sh", "-c", b.String()}}, nil
	return gang, ""
}

// alike reports whether the tasks of two groups do and need the same.
func alike(a, b *spec.Document) bool {
	x, y := a.Clone(), b.Clone()
	for _, d := range []*spec.Document{x, y} {
		d.Workers, d.Labels, d.Annotations, d.Ports = 0, nil, nil, nil
	}
	return x.Equal(y)
}

// scriptOf is the script that scripted made; "" where there is none.
func scriptOf(argv []string) string {
	if len(argv) == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" && strings.Contains(argv[2], "\nexec ") && strings.HasSuffix(argv[2], "\n") {
		return argv[2]
	}
	return ""
}

// common reports whether all groups have a variable with that value.
func common(groups []*replica, name, text string) bool {
	return !slices.ContainsFunc(groups, func(g *replica) bool {
		v, has := g.doc.Env[name]
		return !has || v != text
	})
}

// shared gives all tasks of a gang what one of its groups has and loses
// nothing by being there for the others: volumes, secrets, ports and labels.
func shared(gang, d *spec.Document) {
	for _, v := range d.Volumes {
		if !slices.ContainsFunc(gang.Volumes, func(o spec.Volume) bool { return o.Path == v.Path }) {
			gang.Volumes = append(slices.Clip(gang.Volumes), v)
		}
	}
	for _, s := range d.Secrets {
		if !slices.Contains(gang.Secrets, s) {
			gang.Secrets = append(slices.Clip(gang.Secrets), s)
		}
	}
	for _, p := range d.Ports {
		if !slices.ContainsFunc(gang.Ports, func(o spec.Port) bool { return o.Port == p.Port || o.Name != "" && o.Name == p.Name }) {
			gang.Ports = append(slices.Clip(gang.Ports), p)
		}
	}
	if gang.Resources.SHM < d.Resources.SHM {
		gang.Resources.SHM = d.Resources.SHM
	}
}

// mergeGroups makes one gang of a master and its workers, which may differ in
// command, arguments, variables and resources.
func mergeGroups(master, worker *replica) *spec.Document {
	switch {
	case worker == nil:
		master.doc.Workers = 1
		return master.doc
	case master == nil:
		worker.doc.Workers = worker.count
		return worker.doc
	}
	gang := worker.doc
	gang.Workers = worker.count + 1
	refuseDifference(gang, master)
	if m := master.doc; m.MaxDuration > 0 {
		gang.MaxDuration = shorter(gang.MaxDuration, m.MaxDuration)
	}
	return gang
}

// refuseDifference gives gang the master that a group's pod is.
func refuseDifference(gang *spec.Document, master *replica) {
	m, d := spec.Master{}, master.doc
	if d.Image != gang.Image {
		m.Image = d.Image
	}
	if !slices.Equal(d.Command.Argv, gang.Command.Argv) {
		m.Command, m.Args = d.Command, d.Args
		if len(m.Command.Argv) == 0 {
			master.at.Refuse("has no command, and the workers have one", "write the command for both")
		}
	} else if !slices.Equal(d.Args, gang.Args) {
		m.Args = d.Args
		if len(m.Args) == 0 {
			m.Command = d.Command
		}
	}
	for name, text := range d.Env {
		if was, both := gang.Env[name]; !both || was != text {
			m.Env = source.Set(m.Env, name, text)
		}
	}
	for name := range gang.Env {
		if _, both := d.Env[name]; !both {
			master.at.Approximated("master.env", fmt.Sprintf("it has %s of the workers too", source.Shorten(name)))
			break
		}
	}
	volumes := len(gang.Volumes)
	shared(gang, d)
	if len(gang.Volumes) > volumes {
		master.at.Translated("volumes", "the workers have its volumes too")
	}
	if !d.Resources.Equal(gang.Resources) {
		r := d.Resources
		m.Resources = &r
	}
	if what := otherwise(d, gang); what != "" {
		master.at.Approximated("master", "its "+what+" are the workers'")
	}
	if m.Image != "" || len(m.Command.Argv) > 0 || len(m.Args) > 0 || len(m.Env) > 0 || m.Resources != nil {
		gang.Master = &m
		master.at.Translated("master", "what differs from the workers")
	}
}

// otherwise names what else differs between two groups.
func otherwise(a, b *spec.Document) string {
	x, y := a.Clone(), b.Clone()
	for _, d := range []*spec.Document{x, y} {
		d.Command, d.Args, d.Env, d.Resources, d.Master = spec.Command{}, nil, nil, spec.Resources{}, nil
		d.Image, d.PullPolicy = "", ""
		d.Workers, d.Labels, d.Annotations, d.MaxDuration = 0, nil, nil, 0
		d.Ports, d.Probe = nil, nil
		d.Volumes, d.Secrets = slices.Clone(d.Volumes), slices.Clone(d.Secrets)
	}
	for _, v := range y.Volumes { // what the workers have beside its own
		if !slices.ContainsFunc(x.Volumes, func(o spec.Volume) bool { return o.Path == v.Path }) {
			x.Volumes = append(x.Volumes, v)
		}
	}
	byPath := func(a, b spec.Volume) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(x.Volumes, byPath)
	slices.SortFunc(y.Volumes, byPath)
	x.Secrets, y.Secrets = nil, nil
	switch {
	case x.Equal(y):
		return ""
	case !maps.Equal(x.NodeSelector, y.NodeSelector) || !slices.Equal(x.Tolerations, y.Tolerations):
		return "rules of where it may run"
	case len(x.Volumes) != len(y.Volumes):
		return "volumes"
	default:
		return "other fields"
	}
}
