package lifecycle

import (
	"fmt"
	"strings"
)

// Markdown returns the page docs/lifecycle.md, which is generated from the
// tables of this package.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# The life of a workload

<!-- Generated from the tables in internal/core/lifecycle: go test ./internal/core/lifecycle -update -->

One state machine tells what can happen to a workload. An event that does not fit the phase is refused and changes
nothing. Other platforms' words for the same life are computed from it; nothing is decided by them.

`)
	pagePhases(&b)
	pageRules(&b)
	b.WriteString("## Picture\n\nAn arrow from a box holds for every phase in it.\n\n```mermaid\n" + Mermaid() + "```\n\n")
	pageDialects(&b)
	pagePlatforms(&b)
	return b.String()
}

func pagePhases(b *strings.Builder) {
	b.WriteString(`## Phases

Quota: counts against the project's quota. Held: nodes and devices are assigned and nobody else's. End: nothing more
happens unless a user restarts or deletes.

| Phase | Meaning | Quota | Held | End |
|---|---|---|---|---|
`)
	for _, p := range phases {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", p.Phase, p.Meaning, yes(p.Quota), yes(p.Held), yes(p.End))
	}
	b.WriteString("\n")
}

func pageRules(b *strings.Builder) {
	b.WriteString(`## Transitions

Where the next phase is Terminating, the phase after it is recorded on entering it; a stronger wish replaces it (delete
over stop over everything else). New attempt: the attempt number grows by one; on release only towards Queued and
Reserved. A restart that is asked for while it is Terminating towards an end is kept, and follows the end at once; a stop takes it back.

| Event | From | To | After Terminating | Only if | New attempt |
|---|---|---|---|---|---|
`)
	for i := range rules {
		r := &rules[i]
		from := joinPhases(r.From)
		if from == "" {
			from = "(nothing)"
		}
		to := string(r.To)
		if r.To == AsTargeted {
			to = "what was recorded"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", r.On, from, to, strings.ReplaceAll(joinPhases(r.Targets), ", ", " or "), r.When, yes(r.NewAttempt))
	}
	b.WriteString("\n")
}

func pageDialects(b *strings.Builder) {
	b.WriteString(`## Dialects

What each platform says when there is nothing special to say; an end in its sense is **bold**. Conditions, details of
tasks, reasons and earlier attempts refine it. While a node does not report, runai-workload says Degraded and modelarts
JOBSTAT_LOST of everything held there; while a whole backend does not report, they and mcli say Unknown. A word is an end
of whatever it is said of, or of nothing: so runai-job, whose Unknown is an end, keeps the word that it had until the
outcome is given up on, as Kubernetes does.

Degraded is what lacks something that it had or was promised: a service without all of its replicas, an array some of whose
tasks had to leave, an elastic gang that lost tasks with their node or by their backend's fault, until it has all that it may
have. An elastic gang that the scheduler made smaller, or did not let grow, is not: any number from minWorkers to workers is
as it was asked for, all of its tasks are healthy, and that it could be larger would make every gang on a full site Degraded.

| Phase |`)
	for _, d := range Dialects() {
		fmt.Fprintf(b, " %s |", d)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Dialects())) + "\n")
	for _, s := range plainStates() {
		name := string(s.Phase)
		if s.Phase == Terminating {
			name += ", then " + string(s.Target)
		}
		if s.Phase == Failed && s.Reason != ReasonError {
			name += ", " + string(s.Reason)
		}
		fmt.Fprintf(b, "| %s |", name)
		v := View{Kind: Training, State: s}
		if s.Leaving() {
			v.Prior = State{Phase: Running, Started: true}
			v.State.Started = true
		}
		for _, d := range Dialects() {
			fmt.Fprintf(b, " %s |", pageWord(Say(d, v)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nDeleting and Deleted are shown for a workload that was deleted while it ran. jobq and mcli keep saying of what had\nended how it had ended, modelarts once it is gone; runai-job says Deleted of all that holds nothing any more. What was\nonly stopped, and can run again, is Pending for runai-job whether it had started or not, as its suspended jobs are.\n\nmodelarts has no word for work that somebody holds, that waits for a time or for others, or whose queue is stopped: it\nwaits (7). 4 is said while it is handed over: to a server that does not know all nodes yet, and once its image is built;\n5 where it never fits there. A review is 18 when it begins and 19 for as long as anybody is asked.\n\nA workspace or replica that ends is Error for two seconds, then CrashLoopBackOff until it runs again. One that ends with\nexit code 0 is CrashLoopBackOff at once: Run:ai's Error is an exit code other than zero.\n\nmcli's reason of a run that failed is the exit code of its task where one is known (a failing integration has one, too),\nas mcli's own tools tell: Run failed with exit code 17. Error is their word for all else, and stands where no code is\nknown; it is not said of a code, because that tells more. 137 also stands for memory, of which mcli has no word.\n\nDeployServiceFailed says that the job could not hand its model over to a service that runs. The service is a workload of\nits own and is not ended by it: it goes on restarting after its back-offs, its log and terminal are there for whoever\nlooks why, a mended one (muster update) needs no new training, and it may come to run later. The job does not become\nCompleted then: what has ended has ended. muster stop ends the service.\n\n")
}

// plainStates is every phase as it commonly is: Terminating once for each
// target, Failed once for each reason that some platform has a word for.
func plainStates() []State {
	var all []State
	for _, p := range phases {
		switch p.Phase {
		case Terminating:
			for _, t := range targets() {
				all = append(all, State{Phase: Terminating, Target: t})
			}
		case Failed:
			for _, why := range []Reason{
				ReasonError, ReasonFailedImagePull, ReasonContainerCannot, ReasonMountFailed, ReasonImageBuildFailed, ReasonReviewRejected,
				ReasonSubmitFailed, ReasonSubmitModelFailed, ReasonDeployFailed, ReasonNodeLost,
			} {
				all = append(all, State{Phase: Failed, Reason: why})
			}
		default:
			all = append(all, State{Phase: p.Phase})
		}
	}
	return all
}

func pageWord(w Word) string {
	text := w.Status
	if w.Code != nil {
		text = fmt.Sprintf("%d %s", *w.Code, w.Status)
	}
	if w.Reason != "" {
		text += " (" + w.Reason + ")"
	}
	if w.End {
		return "**" + text + "**"
	}
	return text
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
