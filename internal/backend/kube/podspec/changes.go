package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
)

// Changes says what others have made of a pod while it was created; empty:
// nothing that matters.
func Changes(want, got *corev1.Pod) string {
	var out []string
	say := func(what string, was, is any) {
		if was != is {
			out = append(out, fmt.Sprintf("%s %v → %v", what, was, is))
		}
	}
	w, g := &want.Spec, &got.Spec
	say("schedulerName", w.SchedulerName, g.SchedulerName)
	say("restartPolicy", w.RestartPolicy, g.RestartPolicy)
	if g.ActiveDeadlineSeconds != nil && w.ActiveDeadlineSeconds == nil {
		out = append(out, fmt.Sprintf("activeDeadlineSeconds %d", *g.ActiveDeadlineSeconds))
	}
	say("init containers", len(w.InitContainers), len(g.InitContainers))
	say("containers", len(w.Containers), len(g.Containers))
	a, b := containerOf(w.Containers), containerOf(g.Containers)
	if a == nil || b == nil {
		return strings.Join(out, ", ")
	}
	say("image", a.Image, b.Image)
	say("command", strings.Join(append(slices.Clone(a.Command), a.Args...), " "), strings.Join(append(slices.Clone(b.Command), b.Args...), " "))
	was, is := resources.Requests(a), resources.Requests(b)
	var names []string
	for name := range was {
		names = append(names, string(name))
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, now := was[corev1.ResourceName(name)], is[corev1.ResourceName(name)]
		if before.Cmp(now) != 0 {
			say(name, before.String(), now.String())
		}
	}
	return strings.Join(out, ", ")
}

func containerOf(all []corev1.Container) *corev1.Container {
	for i := range all {
		if all[i].Name == naming.Container {
			return &all[i]
		}
	}
	return nil
}
