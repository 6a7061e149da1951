package lifecycle

import (
	"slices"
	"strings"
)

// initPattern stands for Init:0/1, Init:1/2 and so on in vocabularies.
const initPattern = "Init:A/B"

// chief is the task whose detail a platform shows for the whole workload: the
// launcher or master of a gang, the best replica of a service, else the first
// that is not yet where it should be; nil when there is no task.
func chief(v View) *TaskView {
	var first, late, best *TaskView
	for i := range v.Tasks {
		t := &v.Tasks[i]
		if v.Kind.Ranked() && (t.Role == "launcher" || t.Role == "master") {
			return t
		}
		if first == nil || t.Index < first.Index {
			first = t
		}
		if t.State != "running" && t.State != "succeeded" && (late == nil || t.Index < late.Index) {
			late = t
		}
		if best == nil || t.worse() < best.worse() || t.worse() == best.worse() && t.Index < best.Index {
			best = t
		}
	}
	switch {
	case v.Kind.Replicated():
		return best
	case late != nil && !v.Kind.Ranked():
		return late
	default:
		return first
	}
}

// worse ranks replicas. A service is as well as its best one is, so that a
// failed replica says nothing of the whole while another is on its way; those
// that are ended for good come last.
func (t *TaskView) worse() int {
	switch {
	case t.State == "running":
		return 0
	case t.State == "starting" && t.Restarts == 0 && slices.Contains([]string{"", "ContainerCreating", "PodInitializing", initPattern}, pattern(t.Waiting)):
		return 1
	case t.State == "starting":
		return 2
	case t.State == "failed" && (t.Waiting != "" || t.Restarts > 0):
		return 3
	case t.State == "failed":
		return 4
	default:
		return 5
	}
}

// taskWord is what the chief task itself says, in the words that Kubernetes
// shows for a pod; empty when it says nothing of its own.
func taskWord(v View) string {
	t := chief(v)
	switch {
	case t == nil:
		return ""
	case v.State.Phase == Restarting:
		return t.Waiting
	case t.State == "running" && (v.Kind.Ranked() || v.Kind.Attended()):
		return "Running" // before the launcher's workers do, or before the server takes requests
	case t.State != "starting":
		return ""
	case t.Restarts > 0 && (t.Waiting == "" || t.Waiting == "ContainerCreating"):
		return "CrashLoopBackOff" // a container that is started again in place is that until it runs
	}
	detail, inInit := strings.CutPrefix(t.Waiting, "Init:")
	switch {
	case !inInit, detail == "Error", detail == "CrashLoopBackOff", pattern(t.Waiting) == initPattern:
		return t.Waiting
	case detail == "ErrImagePull", detail == "ImagePullBackOff":
		return detail
	default: // Init:ExitCode:3, Init:OOMKilled …
		return "Init:Error"
	}
}

// pattern is the entry of a vocabulary that stands for word.
func pattern(word string) string {
	rest, ok := strings.CutPrefix(word, "Init:")
	if !ok {
		return word
	}
	done, of, ok := strings.Cut(rest, "/")
	if ok && digits(done) && digits(of) {
		return initPattern
	}
	return word
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// initCase writes the prefix of an init word as pattern wants it.
func initCase(word string) string {
	if rest, ok := strings.CutPrefix(strings.ToLower(word), "init:"); ok {
		return "Init:" + rest
	}
	return word
}

// failedTask is the task whose end made the attempt fail, as far as one can
// see: those that were ended because another had failed come after.
func failedTask(v View) *TaskView {
	if v.Culprit != nil {
		for i := range v.Tasks {
			if t := &v.Tasks[i]; t.Index == *v.Culprit && t.ExitCode != nil && *t.ExitCode != 0 {
				return t
			}
		}
	}
	var found *TaskView
	better := func(a, b *TaskView) bool {
		if ka, kb := a.Reason == string(ReasonKilled), b.Reason == string(ReasonKilled); ka != kb {
			return kb
		}
		return a.Index < b.Index
	}
	for i := range v.Tasks {
		t := &v.Tasks[i]
		if t.State == "failed" && t.ExitCode != nil && *t.ExitCode != 0 && (found == nil || better(t, found)) {
			found = t
		}
	}
	return found
}
