package kubernetes

import (
	"fmt"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// podGroupName is the label by which plain pods start together in Kueue, and
// podGroupCount the annotation that says how many they are.
const (
	podGroupName  = "kueue.x-k8s.io/pod-group-name"
	podGroupCount = "kueue.x-k8s.io/pod-group-total-count"
)

// podGroup is pods that start together.
type podGroup struct {
	name  string
	total int
	pods  []*replica
	at    *source.Value
}

// ofGroup puts the document of a pod aside that starts with others, and
// reports whether it is one.
func ofGroup(k *reader, doc *spec.Document, at *source.Value) bool {
	name, is := doc.Labels[podGroupName]
	if !is {
		return false
	}
	delete(doc.Labels, podGroupName)
	g := k.groups[name]
	if g == nil {
		g = &podGroup{name: name, at: at}
		k.groups[name] = g
		k.groupNames = append(k.groupNames, name)
	}
	for i := range k.Notes {
		switch n := &k.Notes[i]; n.To {
		case "labels." + podGroupName:
			n.To, n.Fate, n.Reason = "workers", source.Translated, "its pods are one gang"
		case "annotations." + podGroupCount:
			n.To, n.Fate, n.Reason = "workers", source.Translated, ""
		}
	}
	if text, given := doc.Annotations[podGroupCount]; given {
		if _, err := fmt.Sscan(text, &g.total); err != nil {
			at.Refuse(fmt.Sprintf("%s is %q, and not a number", podGroupCount, source.Shorten(text)), "write how many pods the group has")
		}
		delete(doc.Annotations, podGroupCount)
	}
	role := doc.Name
	doc.Kind, doc.Restart, doc.Name, doc.NamePrefix = lifecycle.Distributed, "", "", ""
	if len(doc.Labels) == 0 {
		doc.Labels = nil
	}
	if len(doc.Annotations) == 0 {
		doc.Annotations = nil
	}
	if n := len(g.pods); n > 0 && g.pods[n-1].doc.Equal(doc) {
		g.pods[n-1].count++
		return true
	}
	g.pods = append(g.pods, &replica{role: role, count: 1, doc: doc, at: at})
	return true
}

// joinPods makes a gang of the pods of each group.
func joinPods(k *reader) {
	for _, name := range k.groupNames {
		g := k.groups[name]
		n := 0
		for _, p := range g.pods {
			n += p.count
		}
		if missing := g.total - n; missing > 0 && len(g.pods) == 1 && n == 1 {
			g.pods[0].count = g.total
			g.at.Translated("workers", fmt.Sprintf("the file has one pod of %d, which are all the same", g.total))
		} else if missing > 0 {
			g.at.Approximated("workers", fmt.Sprintf("the file has %d pods of %d", n, g.total))
		}
		ranked(g.pods)
		gang, why := k.gang(g.pods)
		switch {
		case len(k.Errors) > 0:
		case gang == nil:
			g.at.Refuse("makes no gang with its group: "+why, "all tasks of a gang but the first have one image and need the same; give them the same, or remove the label "+podGroupName)
		default:
			gang.Name = source.NameFrom(g.name, spec.MaxName)
			k.Add(gang)
		}
	}
}
